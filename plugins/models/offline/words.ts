/** A prompt as clauses, with all that stands in quotes lifted out, so that no word in it is taken for grammar. */

export type QuoteKind = 'double' | 'single' | 'backtick' | 'fence' | 'pattern';
export interface Quote { readonly kind: QuoteKind; readonly text: string }
export interface Words { readonly text: string; readonly quotes: readonly Quote[] }

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
    text = text.replace(pattern, (_, inside: string) => { quotes.push({ kind, text: inside }); return `${OPEN}${quotes.length - 1}${CLOSE}`; });
  }
  return { text, quotes };
}

/** Text with its quotes as they were meant: without their marks. */
export const lower = (text: string, quotes: readonly Quote[]): string => text.replace(new RegExp(`${OPEN}(\\d+)${CLOSE}`, 'g'), (_, i: string) => quotes[Number(i)]?.text ?? '');
/** The quote that the text is, if it is one and nothing else. */
export function quoteOf(text: string, quotes: readonly Quote[]): Quote | undefined {
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

const LEAD = /^(?:[-*•]\s+|\d+[.)]\s+|(?:hey|hi|hello|ok|okay|well|so|now|first|firstly|second|secondly|next|then|also|finally|lastly|just|please|kindly|and|tappet)\b[,:]?\s+|(?:can|could|would|will) you\s+|(?:i|we)(?:'d| would) like (?:you )?to\s+|(?:i|we) (?:want|need) (?:you )?to\s+|i(?:'d| would) like to know\s+|(?:do|can) you (?:know|tell me)\s+|let(?:'s| us)\s+|help me (?:to )?|go ahead and\s+|try to\s+|(?:tell|let) me (?:know )?(?=how|which|what|where|whether|if|who)|show me (?=how|which|what|where)|give me (?=how|which|what|where|the (?:number|count))|i(?:'m| am) looking for\s+)/i;
const TAIL = /(?:[\s,]+(?:please|thanks|thank you|thx|for me|right now|if you can|if possible|exactly))+$|[\s?!.,:]+$/i;

/** Without the politeness around it. */
export function tidy(clause: string): string {
  let text = clause.replace(/[ \t]+/g, ' ').trim();
  for (let before = ''; before !== text;) {
    before = text;
    text = text.replace(LEAD, '').replace(TAIL, '').trim();
  }
  return text;
}
