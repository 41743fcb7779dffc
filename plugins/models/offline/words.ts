/** A prompt as clauses, with all that stands in quotes lifted out, so that no word in it is taken for grammar. */

export type QuoteKind = 'double' | 'single' | 'backtick' | 'fence' | 'pattern';
export interface Quote { readonly kind: QuoteKind; readonly text: string; /** With its marks. */ readonly raw: string }
export type Quotes = readonly Quote[];
export interface Words { readonly text: string; readonly quotes: Quotes }

/** Marks where a quote stood; private characters, which nobody types. */
const OPEN = '\ue000';
const CLOSE = '\ue001';
/** Source of a pattern that finds one lifted quote. */
export const QUOTE = `${OPEN}\\d+${CLOSE}`;

const KINDS: readonly (readonly [QuoteKind, RegExp])[] = [
  ['fence', /```[^\n`]*\n([\s\S]*?)\n?```/g],
  ['backtick', /`([^`\n]+)`/g],
  ['double', /"((?:[^"\\]|\\[\s\S])*)"/g],
  ['double', /[“„]([^”“]*)[”“]/g],
  ['double', /«([^»]*)»/g],
  ['single', /(?<![\w'])'((?:[^'\n]|'(?=\w))+)'(?!\w)/g],
  ['single', /‘([^’]*)’/g],
  // Behind a word that announces a search: elsewhere slashes are paths.
  ['pattern', /(?<=\b(?:for|matching|pattern|regex|match|grep) )\/((?:[^/\n\\]|\\.)+)\/(?=[\s,.?!]|$)/g],
];

export function lift(prompt: string): Words {
  const quotes: Quote[] = [];
  let text = prompt.replace(/[\ue000\ue001]/g, '');
  for (const [kind, pattern] of KINDS) {
    text = text.replace(pattern, (whole: string, inside: string) => { quotes.push({ kind, text: asWritten(inside, quotes), raw: asWritten(whole, quotes) }); return `${OPEN}${quotes.length - 1}${CLOSE}`; });
  }
  return { text, quotes };
}

const dropped = (text: string, quotes: Quotes, of: (q: Quote) => string): string => text.replace(new RegExp(`${OPEN}(\\d+)${CLOSE}`, 'g'), (_, i: string) => { const quote = quotes[Number(i)]; return quote === undefined ? '' : of(quote); });
/** Text with its quotes as they were meant: without their marks. */
export const lower = (text: string, quotes: Quotes): string => dropped(text, quotes, (q) => q.text);
/** Text with its quotes as they were written. */
export const asWritten = (text: string, quotes: Quotes): string => dropped(text, quotes, (q) => q.raw);
export const hasQuote = (text: string): boolean => text.includes(OPEN);
/** The quote that the text is, if it is one and nothing else. */
export function quoteOf(text: string, quotes: Quotes): Quote | undefined {
  const index = new RegExp(`^${OPEN}(\\d+)${CLOSE}$`).exec(text.trim())?.[1];
  return index === undefined ? undefined : quotes[Number(index)];
}

/** Sentences and steps, one after the other. */
export function clauses(text: string): string[] {
  return text
    .replace(new RegExp(`\\s*\\n\\s*(?=${QUOTE}\\s*(?:\\n|$))`, 'g'), ' ') // what stands alone in quotes belongs to the line before
    .replace(/^\s*\d{1,2}[.)]\s+/gm, '')
    .split(/\s*(?:;|\n+|(?<=[^\s.])[.?!]+(?=\s|$)|,?\s+(?:and\s+)?(?:then|afterwards|after that|finally)\b,?)\s*/i)
    .map(tidy)
    .filter((clause) => clause !== '');
}

const LEAD = /^(?:[-*•]\s+|(?:first|second|third)(?:,\s+|\s+(?!(?:\S+\s+)?(?:lines?|rows?)\b))|\d+[.)]\s+|(?:hey|hi|hello|ok|okay|well|so|now|firstly|secondly|next|then|also|finally|lastly|just|please|kindly|and|tappet)\b[,:]?\s+|(?:can|could|would|will) you\s+|(?:i|we)(?:'d| would) like (?:you )?to\s+|(?:i|we) (?:want|need) (?:you )?to\s+|i(?:'d| would) like to know\s+|(?:do|can) you (?:know|tell me)\s+|let(?:'s| us)\s+|help me (?:to )?|go ahead and\s+|try to\s+|i(?:'d| would)? (?:like|want|need) (?=an?\b|the\b|some\b)|(?:tell|let) me (?:know )?(?=how|which|what|where|whether|if|who)|show me (?=how|which|what|where)|give me (?=how|which|what|where|the (?:number|count))|i(?:'m| am) looking for\s+)/i;
const TAIL = /(?:[\s,]+(?:please|thanks|thank you|thx|for me|right now|if you can|if possible|exactly|back|again|to me))+$|[\s?!.,:]+$/i;

/** Without the politeness around it. */
export function tidy(clause: string): string {
  let text = clause.replace(/\s+/g, ' ').trim();
  for (let before = ''; before !== text;) {
    before = text;
    text = text.replace(LEAD, '').replace(TAIL, '').trim();
  }
  return text;
}
