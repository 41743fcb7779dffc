/** English clauses as intents: rules in order, the first that fits counts. A rule whose words are no file, folder or text does not fit. */
import { BARE_NAMES, HERE, readFileSet, readFolder, WORD } from './file-set.ts';
import type { FileSet } from './file-set.ts';
import { IT } from './intents.ts';
import type { Intent, Lines, Measure, Sought, Where } from './intents.ts';
import { asWritten, clauses, hasQuote, lift, lower, QUOTE, quoteOf, tidy } from './words.ts';
import type { Quote } from './words.ts';

type Quotes = readonly Quote[];
export interface Parsed { readonly clause: string; readonly intent: Intent | null }

/** Each clause of a prompt with what it asks for; null where that is not known. */
export function parsePrompt(prompt: string): readonly Parsed[] {
  const { text, quotes } = lift(prompt);
  return clauses(text).slice(0, MAX_CLAUSES).flatMap((clause) => (clause.length > MAX_CLAUSE ? [{ clause, intent: null }] : split(clause, quotes))).map(({ clause, intent }) => ({ clause: asWritten(clause, quotes), intent }));
}

/** Longer clauses and prompts with more of them are no orders that these rules were made for; trying would take long. */
const MAX_CLAUSE = 800;
const MAX_CLAUSES = 40;

const VERBS = 'list|show|find|locate|read|open|print|display|cat|search|grep|look|count|create|write|make|save|append|prepend|add|insert|replace|change|rename|run|execute|check|tell|explain|describe|summari[sz]e|give|how|which|what|where|does|is|are';
/** `and` joins two clauses where both sides make sense by themselves. */
function split(clause: string, quotes: Quotes): { clause: string; intent: Intent | null }[] {
  let partly: { clause: string; intent: Intent | null }[] | null = null;
  for (const joint of clause.matchAll(new RegExp(`\\s*(?:,\\s*and|,|\\band(?: also)?)\\s+(?=(?:please\\s+|also\\s+)?(?:${VERBS})\\b)`, 'gi'))) {
    const [left, right] = [tidy(clause.slice(0, joint.index)), tidy(clause.slice(joint.index + joint[0].length))];
    const first = parseClause(left, quotes);
    if (first === null) continue;
    const rest = split(right, quotes);
    if (rest.every((r) => r.intent !== null)) return [{ clause: left, intent: first }, ...rest];
    partly ??= [{ clause: left, intent: first }, ...rest];
  }
  const whole = parseClause(clause, quotes);
  return whole === null && partly !== null ? partly : [{ clause, intent: whole }];
}

export function parseClause(clause: string, quotes: Quotes): Intent | null {
  const insensitive = /[\s,(]*\b(?:case[- ]insensitive(?:ly)?|ignoring (?:the )?case|regardless of case|in any case)\)?/i;
  const ignoreCase = insensitive.test(clause);
  const text = tidy(clause.replace(insensitive, ''));
  const moved = /^(?:in|inside|within|under)\s+(.+?),?\s+((?:how|which|what|where|is|are|does|list|find|show|search|grep|count|read|print|replace|change|look|display|give|name)\b.+)$/i.exec(text);
  if (moved !== null && whereOf(moved[1]!, quotes) !== null) {
    const intent = parseClause(`${moved[2]} in ${moved[1]}`, quotes);
    if (intent !== null) return ignoreCase && intent.do === 'search' ? { ...intent, sought: { ...intent.sought, ignoreCase } } : intent;
  }
  for (const [pattern, make] of RULES) {
    const found = pattern.exec(text);
    if (found === null) continue;
    const intent = make(found as unknown as readonly string[], quotes);
    if (intent !== null) return intent.do === 'search' && ignoreCase ? { ...intent, sought: { ...intent.sought, ignoreCase } } : intent;
  }
  return null;
}

// ---- words that are not grammar --------------------------------------------------------------------------------------------

const PRONOUN = /^(?:it|its|their|this|that|this file|that file|the file|the same file|the result|its contents?|them|they|these|those|all of them|each of them|these files|those files|each)$/i;

/** Null: the words name no file. */
function fileOf(words: string, quotes: Quotes): string | null {
  const bare = words.trim();
  if (PRONOUN.test(bare)) return IT;
  const text = bare.replace(/^(?:(?:the|a|an|my|our|this|file|script|document|new|named|called|contents? of|text of|source of)\s+)+/i, '').replace(/(?<=\S)\s+(?:file|script|document)$/i, '');
  const quote = quoteOf(text, quotes);
  if (quote !== undefined) return quote.kind !== 'fence' && quote.text !== '' && !/[\n*?]/.test(quote.text) && quote.text.length < 300 ? quote.text.replace(/^@/, '') : null;
  const path = text.replace(/^@/, '');
  if (!/^[\p{L}\p{N}_.~/\\+:-]+$/u.test(path) || !/\p{L}/u.test(path)) return null;
  return BARE_NAMES.test(path) || /^\.?[^.].*\.[\p{L}\p{N}]+$|[/\\].|^\.\p{L}/u.test(path) ? path : null;
}
function filesOf(words: string, quotes: Quotes): readonly string[] | null {
  const all = words.trim().replace(/^(?:(?:the|both|all|these|files)\s+)+(?=\S+[,\s])/i, '').split(/\s*(?:,\s*and\b|,|\band\b|&)\s*/i).map((w) => fileOf(w, quotes));
  return all.length > 0 && all.every((f) => f !== null) ? (all as string[]) : null;
}

/** Null: the words name no place. */
function whereOf(words: string | undefined, quotes: Quotes): Where | null {
  const text = words?.trim() ?? '';
  if (/^(?:in|inside|within|under|of|for|to|from)\s/i.test(text)) return null;
  if (text === '' || HERE.test(text) || /^(?:any|all|every|all the|any of the) files?$/i.test(text)) return {};
  if (/^(?:them|these|those|these files|those files|each of them|all of them)$/i.test(text)) return { them: true };
  const file = fileOf(text, quotes);
  if (file !== null) return file === IT ? { them: true } : { path: file };
  if (!/\s/.test(text) && quoteOf(text, quotes) === undefined && !/[*?]/.test(text)) {
    const folder = readFolder(text, quotes);
    return folder === null ? null : folder === '' ? {} : { path: folder };
  }
  const set = readFileSet(text, quotes);
  if (set !== null) return set.names === '*' && set.deep ? (set.folder === null ? {} : { path: set.folder }) : { set };
  const folder = readFolder(text, quotes);
  return folder === null ? null : folder === '' ? {} : { path: folder };
}

const KIND_OF_TEXT = /^(?:(?:the|a|an|any|all|every|exact|literal|exactly)\s+)*(?:(?:word|string|text|phrase|term|name|function|method|variable|constant|class|type|interface|symbol|identifier|keyword|sentence|substring|expression|value|calls? to|imports? of|occurrences? of|mentions? of|uses? of|references? to)s?\s+)+/i;
/** Null: there are no words to look for. */
function soughtOf(words: string, quotes: Quotes): Sought | null {
  const announced = /^(?:the\s+|a\s+)?(?:reg(?:ular )?\s?exp?(?:ression)?|regex|pattern)\s+/i.exec(words);
  const text = words.slice(announced?.[0].length ?? 0).trim().replace(KIND_OF_TEXT, '').trim();
  const quote = quoteOf(text, quotes);
  if (quote === undefined && hasQuote(text)) return null;
  const plain = quote?.text ?? text;
  if (plain.trim() === '' || plain.length > 500 || plain.includes('\n')) return null;
  const isRegex = announced !== null || quote?.kind === 'pattern';
  return { regex: isRegex ? plain : plain.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&'), shown: isRegex ? `/${plain}/` : JSON.stringify(plain), ignoreCase: false };
}
/** `foo in src`: the first ` in ` whose rest is a place divides. */
function soughtAndWhere(words: string, quotes: Quotes): { readonly sought: Sought; readonly where: Where } | null {
  for (const joint of words.matchAll(/(?<=\s)(?:in|inside|within|under|across|throughout|from)\s+/gi)) {
    const where = whereOf(words.slice(joint.index + joint[0].length), quotes);
    const sought = where === null ? null : soughtOf(trimmed(words.slice(0, joint.index)), quotes);
    if (where !== null && sought !== null) return { sought, where };
  }
  // A place that was meant and not understood must not become a part of the words that are looked for.
  const sought = !hasQuote(words) && /\s(?:in|inside|under)\s/i.test(words) ? null : soughtOf(trimmed(words), quotes);
  return sought === null ? null : { sought, where: {} };
}
const trimmed = (words: string): string => words.trim().replace(/\s+(?:(?:is|are|do|does|was|were|can|has|have|been|be)\s+)*(?:there|used|found|mentioned|defined|declared|called|imported|referenced|appear|appears|occur|occurs|exist|exists|anywhere|everywhere|somewhere|we have)$/i, '');

const search = (words: string, quotes: Quotes, how: Extract<Intent, { do: 'search' }>['how'], place?: string): Intent | null => {
  if (place === undefined) { const found = soughtAndWhere(words, quotes); return found === null ? null : { do: 'search', how, ...found }; }
  const where = whereOf(place, quotes);
  const sought = soughtOf(trimmed(words), quotes);
  return where === null || sought === null ? null : { do: 'search', how, sought, where };
};

/** What is to be written. */
function contentOf(words: string, quotes: Quotes): string | null {
  const text = words.trim();
  const quote = quoteOf(text, quotes);
  if (quote !== undefined) return quote.kind === 'fence' ? `${quote.text}\n` : quote.kind === 'double' ? unescaped(quote.text) : quote.text;
  const many = text.split(/\s*(?:,\s*and\b|,|\band\b)\s*/i).map((w) => quoteOf(w, quotes));
  if (many.length > 1 && many.every((q) => q !== undefined)) return many.map((q) => `${q!.text}\n`).join('');
  return text === '' ? null : asWritten(text, quotes);
}
const unescaped = (text: string): string => text.replace(/\\([nt"\\])/g, (_, c: string) => (c === 'n' ? '\n' : c === 't' ? '\t' : c));

const NUMBERS: Readonly<Record<string, number>> = { one: 1, two: 2, three: 3, four: 4, five: 5, six: 6, seven: 7, eight: 8, nine: 9, ten: 10, twelve: 12, twenty: 20 };
const numberOf = (word: string | undefined): number | null => (word === undefined ? null : /^\d{1,7}$/.test(word) ? Number(word) : (NUMBERS[word.toLowerCase()] ?? null));
const COUNT = '(\\d+|one|two|three|four|five|six|seven|eight|nine|ten|twelve|twenty)';
/** `lines 3 to 9`, `the first ten lines`, `line 4`. */
function linesOf(words: string): Lines | null {
  const text = words.trim().replace(/^the\s+/i, '');
  let m: RegExpExecArray | null;
  if ((m = /^(?:lines?|from line|rows?)\s+(\d+)\s*(?:-|–|to|through|until|till|up to|and|\.\.+)\s*(?:line\s+)?(\d+)$/i.exec(text)) !== null) return Number(m[1]) >= 1 && Number(m[2]) >= Number(m[1]) ? { from: Number(m[1]), to: Number(m[2]) } : null;
  if ((m = /^(?:line|row)(?: number)?\s+(\d+)$/i.exec(text)) !== null) return Number(m[1]) >= 1 ? { from: Number(m[1]), to: Number(m[1]) } : null;
  if ((m = /^(?:from line|lines? from)\s+(\d+)(?:\s+(?:on|onwards?|to the end))?$/i.exec(text)) !== null) return { from: Math.max(1, Number(m[1])), to: null };
  if ((m = new RegExp(`^(?:first|top|initial)\\s+(?:${COUNT}\\s+)?(?:lines?|rows?)$`, 'i').exec(text)) !== null) return { from: 1, to: numberOf(m[1]) ?? 1 };
  if ((m = new RegExp(`^(?:last|bottom|final)\\s+(?:${COUNT}\\s+)?(?:lines?|rows?)$`, 'i').exec(text)) !== null) return { from: -(numberOf(m[1]) ?? 1), to: null };
  return null;
}

// ---- rules -----------------------------------------------------------------------------------------------------------------

type Rule = readonly [RegExp, (m: readonly string[], q: Quotes) => Intent | null];
const rule = (pattern: string, make: Rule[1], flags = 'i'): Rule => [new RegExp(`^(?:${pattern})$`, flags), make];

const HOW_MANY = "(?:(?:count |check |find out |see )?how many|count(?: up)?(?: the)?(?: total)?(?: number of)?(?: all)?(?: the)?|(?:give|tell) me (?:the )?(?:total )?(?:number|count) of|(?:what(?:'s| is) )?(?:the )?(?:total )?(?:number|count|amount) of)";
const SHOW = '(?:read|show|print|open|cat|display|view|output|dump|see|give|get|type|list)(?:\\s+me)?(?:\\s+out)?';
const CONTAIN = "(?:that |which |do |does |who )?(?:contain|mention|use|import|include|reference|refer to|match|have|has|talk about|call|define|declare|say|depend on|(?:with|has|have) the (?:word|text|string|phrase))(?:s|es|ing)?";
const OCCUR = '(?:occur|appear|show up|come up|exist|mentioned|used|called|found|written|referenced|repeated|seen|be found|been used|imported|present|defined|declared)(?:s|ed)?';
const IN = '(?:\\s+(?:in|inside|within|across|throughout|under)\\s+(.+))?';
const KINDS = '(?:(?:plain|text|markdown|json|yaml|html|python|javascript|typescript|shell|bash|config|source|csv|simple|small)\\s+)*';

const setOf = (words: string, q: Quotes): FileSet | null => readFileSet(
  words.trim()
    .replace(/^(.+?)\s+(?:does|do)\s+(.+?)\s+(?:have|contain|hold|include)$/i, (_, what: string, place: string) => (/^(?:we|you|i|it)$/i.test(place) ? what : `${what} in ${place}`))
    .replace(/\s+(?:(?:are|is) (?:there|located|found|stored)|(?:are|is)|exists?|there are|there is|do we have|we have|can be found|live|lie)(?=\s+(?:in|inside|under|within|below|at)\b|$)/i, ''),
  q,
);
const named = (file: string, folder: string | null): FileSet => ({ names: file.replace(/^\.\//, '').replace(/[*?[\]{}\\]/g, '\\$&'), folder, deep: true, path: file.includes('/') });
const folderIn = (words: string | undefined, q: Quotes): string | null | undefined => { if (words === undefined) return null; const f = readFolder(words, q); return f === null ? undefined : f === '' ? null : f; };

const exists = (kind: string | undefined, what: string, place: string | undefined, q: Quotes): Intent | null => {
  const folder = folderIn(place, q);
  if (folder === undefined) return null;
  const word = kind?.toLowerCase();
  const isFolder = word === 'folder' || word === 'directory' || / (?:folder|directory)$/i.test(what);
  const path = isFolder ? readFolder(what, q) : fileOf(what, q) ?? (word === 'file' ? lower(what, q) : null);
  if (path === null || path === '' || path === IT || /\s/.test(path) && quoteOf(what, q) === undefined) return null;
  return { do: 'exists', path, folder, kind: isFolder ? 'folder' : word === 'file' ? 'file' : null };
};
const write = (file: string, content: string | null, q: Quotes): Intent | null => {
  const path = fileOf(file, q);
  return path === null || path === IT || content === null ? null : { do: 'write', file: path, content };
};
const add = (content: string, file: string, at: 'end' | 'start', q: Quotes): Intent | null => {
  const path = fileOf(file, q);
  const text = contentOf(content, q);
  return path === null || text === null ? null : { do: 'add', file: path, content: text, at };
};
const run = (command: string, place?: string): Intent | null => {
  const line = command.trim();
  if (line === '') return null;
  return { do: 'run', command: place === undefined ? line : `cd ${/^[\w./-]+$/.test(place) ? place : `'${place.replaceAll("'", "'\\''")}'`} && ${line}` };
};
const lines = (target: string, q: Quotes): Intent | null => {
  const text = target.trim().replace(/^(?:(?:are there|are|is there|there are|does|do|is|in|inside|under|within|below|of|from|long is|for)\s+)+/i, '').replace(/\s+(?:have|has|contain|contains|there|long|got|consist of|altogether|in total|all together)$/i, '').replace(/^(?:each of|every|all of)\s+(?=\S+\.\w+)/i, '');
  const files = text === '' ? null : filesOf(text, q);
  if (files !== null) return files.includes(IT) && files.length > 1 ? null : { do: 'lines', files, where: null };
  const where = whereOf(text, q);
  return where === null ? null : { do: 'lines', files: [], where };
};
const read = (files: string, q: Quotes, range: Lines | null = null): Intent | null => {
  const all = filesOf(files, q);
  return all === null ? null : { do: 'read', files: all, lines: range };
};
const EXTREMES: readonly (readonly [RegExp, Measure, boolean])[] = [
  [/^(?:largest|biggest|heaviest|most bytes)$/i, 'bytes', true], [/^(?:smallest|tiniest|fewest bytes)$/i, 'bytes', false],
  [/^(?:longest|most lines)$/i, 'lines', true], [/^(?:shortest|fewest lines|least lines)$/i, 'lines', false],
  [/^(?:oldest|least recent)|^(?:longest ago)/i, 'time', false], [/./, 'time', true],
];
const CHANGED = '(?:changed|modified|edited|updated|touched|written|created)';
const EXTREME = `(?:largest|biggest|heaviest|smallest|tiniest|longest|shortest|newest|latest|oldest|most recent(?:ly ${CHANGED})?|last ${CHANGED}|recently ${CHANGED}|least recently ${CHANGED})`;
const extreme = (word: string, words: string, count: string | undefined, q: Quotes): Intent | null => {
  const by = /\s*(?:,\s*)?(?:by|in terms of|measured in|counted in)\s+(?:(?:the )?number of\s+)?(lines?|size|bytes|age|date|modification time|line count)$/i.exec(words);
  const set = setOf(by === null ? words : words.slice(0, by.index), q);
  if (set === null) return null;
  const [, kind, most] = EXTREMES.find(([pattern]) => pattern.test(word.trim()))!;
  const said = by?.[1]?.toLowerCase();
  const measure = said === undefined ? kind : said.startsWith('line') ? 'lines' : said === 'size' || said === 'bytes' ? 'bytes' : 'time';
  return { do: 'extreme', by: measure, most, set, n: numberOf(count) ?? 1 };
};
const PROJECT = '(?:(?:this|the|my|our|current|whole|entire)\\s+)*(?:project|repo|repository|codebase|code base|package|code|app|application|library|program|software|folder|directory|workspace)(?:\\s+here)?';
const project = (about: Extract<Intent, { do: 'project' }>['about']) => (): Intent => ({ do: 'project', about });

/** Speaks of names, not of contents. */
const speaksOfNames = (words: string, q: Quotes): boolean =>
  /\bnames?$|^(?:the\s+|an?\s+)?(?:file\s+)?(?:extensions?|suffix|endings?|names?)\b|^\S*\*\S*(?:\s|$)/i.test(words) || /^\*+\.\w+$/.test(quoteOf(words, q)?.text ?? '');

const RULES: readonly Rule[] = [
  rule("(?:hi|hello|hey|greetings|good (?:morning|afternoon|evening|day))(?: there| you| tappet)?|(?:thanks|thank you|thx|cheers|great|perfect|cool|nice)(?: .{0,40})?", () => ({ do: 'help', greets: true })),
  rule("help|\\?|what (?:can|do|could) you (?:do|understand)(?: .*)?|what are you(?: able to do)?|who are you|(?:what|which) (?:model|llm|ai|assistant)(?: .*)?|are you (?:an? |the |really )?.*(?:model|ai|llm|human|bot|claude|gpt|person|machine)|how do you work|introduce yourself|who am i (?:talking|speaking) (?:to|with)", () => ({ do: 'help', greets: false })),

  // Commands. What is run is taken as it stands.
  rule(`(?:run|execute|exec|launch|invoke|start)\\s+(?:the\\s+)?(?:following\\s+)?(?:(?:shell|bash|terminal|console|command[- ]line)\\s+)?(?:command|program|code)?:?\\s*(${QUOTE})(?:\\s+(?:in|inside|from|under)\\s+(.+?))?(?:\\s+(?:with|using|in) (?:bash|(?:the|a) (?:shell|terminal)))?`, (m, q) => { const place = m[2] === undefined ? undefined : readFolder(m[2], q); return place === null ? null : run(lower(m[1]!, q), place === '' ? undefined : place); }),
  rule(`(?:what(?:'s| is) the output of|what does|(?:show|give|print)(?: me)? the output of|(?:the )?output of)\\s+(?:(?:running|executing|the command|command)\\s+)*(${QUOTE})(?:\\s+(?:print|output|say|return|give|show)s?(?: out)?)?`, (m, q) => (quoteOf(m[1]!, q)?.kind === 'backtick' && fileOf(m[1]!, q) === lower(m[1]!, q) && /^\S+\.\w+$/.test(lower(m[1]!, q)) ? null : quoteOf(m[1]!, q)?.kind === 'backtick' ? run(lower(m[1]!, q)) : null)),
  rule('(?:run|execute|start)\\s+(?:(?:the|all|of|my|our|this project\'s)\\s+)*(?:(?:unit|integration|project)\\s+)?tests?(?:\\s+suite)?(?: of (?:this|the) project)?', () => ({ do: 'script', script: 'test' })),
  rule(`(?:run|start|do)\\s+(?:the\\s+)?build|build\\s+${PROJECT}`, () => ({ do: 'script', script: 'build' })),
  rule('(?:run\\s+)?(?:the\\s+)?(?:linter|lint|linting)', () => ({ do: 'script', script: 'lint' })),
  rule('(?:run|execute|start)\\s+(?:the\\s+)?(?:npm\\s+|package\\s+)?(?:script\\s+)?([\\w:.-]+)\\s+script|(?:run|execute)\\s+(?:the\\s+)?(?:npm\\s+)?script\\s+(?:named\\s+|called\\s+)?([\\w:.-]+)', (m, q) => (fileOf((m[1] ?? m[2])!, q) !== null ? null : { do: 'script', script: (m[1] ?? m[2])! })),
  rule('(?:run|execute)\\s+(?:the\\s+command\\s+|command:?\\s+)?((?!(?:the|a|an|all|my|our|this|that|these|those|it|them|some|every|any|tests?)\\b)(?:\\.{0,2}/)?[a-z_][\\w.+/-]*(?:\\s.*)?)', (m, q) => { const inside = /^(\S+(?:\s+-\S+)*(?:\s+\S+)?)\s+in\s+(?:the\s+)?(?:folder\s+|directory\s+)?(\S+?)(?:\s+(?:folder|directory))?$/i.exec(m[1]!); const place = inside === null ? null : readFolder(inside[2]!, q); return place === null ? run(asWritten(m[1]!, q)) : run(asWritten(inside![1]!, q), place === '' ? undefined : place); }),

  rule('(?:show|print|run|what(?:\'s| is))(?:\\s+me)?(?:\\s+the)?\\s+git (status|log|diff|branch)(?:\\s+of .*)?|(?:show|what(?:\'s| is))(?:\\s+me)?(?:\\s+the)? (?:commit )?(history)', (m) => run(m[1]?.toLowerCase() === 'log' || m[2] !== undefined ? 'git log --oneline -n 20' : m[1]?.toLowerCase() === 'branch' ? 'git branch --show-current' : `git ${m[1]!.toLowerCase()}`)),
  rule(`${HOW_MANY}\\s+commits?(?:\\s+.*)?`, () => run('git rev-list --count HEAD')),
  rule('(?:what|which)(?: git)? branch(?: is this| am i on| are we on| is checked out)?|what(?:\'s| is) the current(?: git)? branch', () => run('git branch --show-current')),
  rule('what (?:has )?changed|what did (?:i|we) change|(?:what|which) files (?:have |were |are |did (?:i|we) )?(?:changed?|modified)|what are the (?:uncommitted )?changes', () => run('git status --short')),

  // Changes of files.
  rule(`(?:append|add|insert|put|write)\\s+(?:(?:the|a|an|another|one more|this|following|new)\\s+)*(?:(?:line|text|sentence|entry|word|content|paragraph|comment|note)s?\\s*)?(?:(?:saying|reading|that says|with(?: the)? (?:text|contents?)|containing|of)\\s+)?:?\\s*(.+?)\\s+(?:to|at|on|onto|into|in|as)\\s+(?:the\\s+)?(?:very\\s+)?(end|bottom|last line|beginning|start|top|first line|front|head)(?:\\s+of)?\\s+(.+)`, (m, q) => add(m[1]!, m[3]!, /end|bottom|last/i.test(m[2]!) ? 'end' : 'start', q)),
  rule(`append\\s+(?:(?:the|a|an|another|one more|this|following|new)\\s+)*(?:(?:line|text|sentence|entry|word|content|paragraph|comment|note)s?\\s*)?(?:(?:saying|reading|that says|containing)\\s+)?:?\\s*(.+?)\\s+(?:to|onto)\\s+(.+)`, (m, q) => add(m[1]!, m[2]!, 'end', q)),
  rule(`(?:add|insert)\\s+(?:(?:the|a|an|another|one more|this|following|new)\\s+)*(?:(?:line|text|sentence|entry|word|content|paragraph|comment|note)s?\\s*)?(?:(?:saying|reading|that says|containing)\\s+)?:?\\s*(${QUOTE})\\s+(?:to|into|onto|in)\\s+(.+)`, (m, q) => add(m[1]!, m[2]!, 'end', q)),
  rule(`(?:append|add)\\s+to\\s+(?:the\\s+file\\s+)?(${WORD}):?\\s+(?:the\\s+)?(?:(?:line|text|words?)s?:?\\s+)?(.+)`, (m, q) => add(m[2]!, m[1]!, 'end', q)),
  rule(`prepend\\s+(?:(?:the|a|an|this|line|text|words?|sentence|comment|new)\\s+)*:?\\s*(.+?)\\s+(?:to|onto|in)\\s+(.+)`, (m, q) => add(m[1]!, m[2]!, 'start', q)),
  rule(`(?:replace|change|substitute|swap|turn|rename)\\s+(?:(?:all|every|each|the|any|of)\\s+)*(?:(?:occurrences?|instances?)\\s+of\\s+)?(?:(?:the\\s+)?(?:word|text|string|line|phrase|name|version)s?\\s+)?(.+?)\\s+(?:with|by|to|into|for|->|=>)\\s+(?:the\\s+)?(?:(?:word|text|string|line|phrase)\\s+)?(.+?)\\s+(?:everywhere\\s+)?(?:in|inside|within|of)\\s+(.+)`, (m, q) => { const file = fileOf(m[3]!, q); const [from, to] = [contentOf(m[1]!, q), contentOf(m[2]!, q)]; return file === null || from === null || to === null ? null : { do: 'replace', file, from, to }; }),
  rule(`(?:write|put|save|store|dump|output)\\s+(?:(?:the|this|following|a)\\s+)*(?:(?:text|contents?|words?|line|string|sentence)\\s*)*:?\\s*(.+?)\\s+(?:in|into|to|inside|as|under)\\s+(?:(?:a|an|the)\\s+)?(?:new\\s+)?((?:(?:text\\s+)?file\\s+)?(?:(?:named|called)\\s+)?${WORD}(?: file)?)`, (m, q) => (fileOf(m[1]!, q) !== null && quoteOf(m[1]!, q) === undefined ? null : write(m[2]!.replace(/^text\s+/i, ''), contentOf(m[1]!, q), q))),
  rule(`(?:create|write|make|add|generate|save|produce|set up)\\s+(?:(?:a|an|the|me|another)\\s+)*(?:new\\s+)?${KINDS}((?:(?:file|document|script|note)\\s+)?(?:(?:named|called|at)\\s+)?${WORD}(?: file)?)\\s*[,:]?\\s*(?:(?:with|containing|that (?:contains|says|reads|has)|which (?:contains|says|has|reads)|saying|whose contents? (?:is|are|reads?)|and (?:write|put)(?: in it)?|holding|having|reading)\\s+(?:(?:the|this|a|one|single|following|exact|only|just|as)\\s+)*(?:(?:contents?|text|lines?|words?|body|string|sentence)\\s*)*(?:(?:of|being|is|reads?|saying|that says)\\s+)*:?\\s*|:\\s*)(.+?)(?:\\s+(?:in(?:side)? it|as (?:its )?contents?))?`, (m, q) => write(m[1]!, contentOf(m[2]!, q), q)),
  rule(`(?:create|make|touch|add|generate)\\s+(?:(?:a|an|the|me|another)\\s+)*(?:(?:new|empty|blank)\\s+)*${KINDS}((?:(?:file|document|script|note)\\s+)?(?:(?:named|called|at)\\s+)?${WORD}(?: file)?)(?:\\s+(?:that is empty|without (?:any )?contents?|with no contents?))?`, (m, q) => write(m[1]!, '', q)),

  // Is it there?
  rule(`(?:does|do)\\s+(?:(?:the|a|an|my|our|any)\\s+)*(?:(file|folder|directory)\\s+)?(?:(?:named|called)\\s+)?(.+?)\\s+(?:already\\s+)?exist(?:\\s+(?:in|inside|under|within|below)\\s+(.+)|\\s+(?:here|already|yet|anywhere))?`, (m, q) => exists(m[1], m[2]!, m[3], q)),
  rule(`(?:(?:check|see|test|verify|find out|determine|tell me)\\s+(?:if|whether|that)|is|whether|if)\\s+(?:(?:there\\s+(?:is|exists)|there's|there)\\s+)?(?:already\\s+)?(?:(?:the|a|an|my|our|any)\\s+)*(?:(file|folder|directory)\\s+)?(?:(?:named|called|with the name)\\s+)?(.+?)(?:\\s+(?:already\\s+)?(?:exists?|is there|is present|present|there|missing|is missing))?(?:\\s+(?:in|inside|under|within|below)\\s+(.+?))?(?:\\s+(?:here|already|anywhere|exists?))?`, (m, q) => exists(m[1], m[2]!, m[3], q)),
  rule(`(?:do|does)\\s+(?:we|you|i|it|${PROJECT})\\s+(?:have|contain|include|come with)\\s+(?:(?:the|a|an|any)\\s+)*(?:(file|folder|directory)\\s+)?(?:(?:named|called)\\s+)?(.+?)(?:\\s+(?:in|inside|under|within|below)\\s+(.+))?`, (m, q) => exists(m[1], m[2]!, m[3], q)),
  rule(`(?:do|does)\\s+(?:the\\s+)?(?:folder\\s+|directory\\s+)?(${WORD})(?:\\s+folder|\\s+directory)?\\s+(?:have|contain|include|hold)\\s+(?:(?:the|a|an|any)\\s+)*(file|folder|directory)\\s+(?:(?:named|called)\\s+)?(.+)`, (m, q) => exists(m[2], m[3]!, m[1], q)),
  rule(`(?:do|does)\\s+(?:any|some)\\s+(.+?)\\s+${CONTAIN}\\s+(.+)|(?:are|is) there\\s+(?:any|some|a)\\s+(.+?)\\s+(?:that|which)\\s+${CONTAIN}\\s+(.+)`, (m, q) => { const place = setOf((m[1] ?? m[3])!, q); const found = place === null ? null : soughtAndWhere((m[2] ?? m[4])!, q); return found === null ? null : { do: 'search', how: 'files', sought: found.sought, where: both(found.where, place!) }; }),
  rule(`(?:do|does|is|are)\\s+(?:the\\s+)?(?:file\\s+)?(${WORD})\\s+(?:contain|mention|include|have|use|say|import|match)s?\\s+(.+)`, (m, q) => (fileOf(m[1]!, q) === null || fileOf(m[1]!, q) === IT ? null : search(m[2]!, q, 'lines', m[1]))),
  [/^(?:[Aa]re|[Ii]s) there (?:any |some |a )?([A-Z]{3,})(?:s|'s)?(?:\s+(?:comments?|markers?|notes?|tags?))?(?:\s+(?:left|remaining))?(?:\s+(?:in|inside|within|under|across)\s+(.+))?$/, (m, q) => (BARE_NAMES.test(m[1]!) && m[1] !== 'TODO' ? null : search(m[1]!, q, 'lines', m[2] ?? ''))],
  rule(`(?:are|is) there\\s+(?:any|some|a|an)?\\s*(.+)|(?:do|does)\\s+(?:we|you|i|it|${PROJECT})\\s+(?:have|contain|include)\\s+(?:any|some)?\\s*(.+)`, (m, q) => { const set = setOf((m[1] ?? m[2])!, q); return set === null ? null : { do: 'files', set, how: 'any' }; }),

  // How many?
  rule(`${HOW_MANY}\\s+(?:lines?|rows?)\\s+(?:(?:in|of)\\s+(.+?)\\s+)?(?:contain|mention|match|have|include|with|say|hold|start with|that contain|that mention|that match|that have|which contain|which mention|that include|containing|mentioning|matching|including|having)\\s+(.+)`, (m, q) => search(m[2]!, q, 'count lines', m[1])),
  rule(`${HOW_MANY}\\s+(?:lines?|rows?)(?:\\s+of\\s+(?:code|text|source(?: code)?))?(?:\\s+(.*))?|(?:what(?:'s| is) )?(?:the )?(?:line count|length)\\s+(?:of|for|in)\\s+(.+?)(?:\\s+in lines)?|how long is\\s+(.+?)(?:\\s+in lines)?|count\\s+(.+?)(?:'s)? lines|how many lines long is\\s+(.+)`, (m, q) => lines(m[1] ?? m[2] ?? m[3] ?? m[4] ?? m[5] ?? '', q)),
  rule(`how (?:many times|often|frequently)\\s+(?:does|do|is|are|has|did|can|was|were)\\s+(.+?)\\s+${OCCUR}(?:\\s+(?:in|inside|within|across|throughout|under)\\s+(.+))?`, (m, q) => search(m[1]!, q, 'count times', m[2] ?? '')),
  rule(`(?:count\\s+)?how (?:many times|often)\\s+(.+?)\\s+(?:is |are |gets? )?${OCCUR}(?:\\s+(?:in|inside|within|across|throughout|under)\\s+(.+))?`, (m, q) => (/^(?:does|do|is|are)\b/i.test(m[1]!) ? null : search(m[1]!, q, 'count times', m[2] ?? ''))),
  rule(`count\\s+(?:all\\s+|the\\s+)*(?:(?:word|text|string)\\s+)?(${QUOTE})${IN}`, (m, q) => search(m[1]!, q, 'count times', m[2] ?? '')),
  rule(`how (?:many times|often)\\s+(?:does|do)\\s+(.+?)\\s+(?:contain|mention|use|have|include|say|call|import)s?\\s+(.+)`, (m, q) => (whereOf(m[1]!, q) === null ? null : search(m[2]!, q, 'count times', m[1]))),
  rule(`${HOW_MANY}\\s+(?:occurrences?|instances?|mentions?|uses?|usages?|matches|appearances?|references?|hits|times)\\s+(?:of|to|for)\\s+(.+)`, (m, q) => search(m[1]!.replace(/\s+(?:are|is|do|does) (?:there|we have|it have)(?=\s|$)/i, ''), q, 'count times')),
  [/^(?:[Hh]ow many|[Cc]ount(?: the| all| the number of)*|(?:the )?[Nn]umber of)\s+([A-Z]{3,})(?:s|'s)?(?:\s+(?:comments?|markers?|notes?|tags))?(?:\s+(?:are there|are|is there|there are|do we have|exist))?(?:\s+(?:in|inside|within|under|across)\s+(.+))?$/, (m, q) => search(m[1]!, q, 'count times', m[2] ?? '')],
  rule(`${HOW_MANY}\\s+(.+?)\\s+${CONTAIN}\\s+(.+)`, (m, q) => { const place = speaksOfNames(m[2]!, q) ? null : setOf(m[1]!, q); const found = place === null ? null : soughtAndWhere(m[2]!, q); return found === null ? null : { do: 'search', how: 'count files', sought: found.sought, where: both(found.where, place!) }; }),
  rule(`${HOW_MANY}\\s+(words?|characters?|chars?|letters?|bytes?)\\s+(?:(?:are there|are|is there|does|do|has|in|of|there are)\\s+)*(.+?)(?:\\s+(?:have|has|contain|contains|there))?|how (?:big|large)\\s+is\\s+(.+)|(?:what(?:'s| is) )?(?:the )?(?:file )?size\\s+of\\s+(.+)`, (m, q) => { const file = fileOf((m[2] ?? m[3] ?? m[4])!, q); const unit = /^w/i.test(m[1] ?? '') ? 'words' : /^[cl]/i.test(m[1] ?? '') ? 'characters' : 'bytes'; return file === null ? null : { do: 'text size', file, unit }; }),
  rule(`${HOW_MANY}\\s+(?:different\\s+|sub-?)?(?:folders|directories|subfolders|subdirectories)(?:\\s+(?:are there|are|is there|there are|do we have|exist))?(?:\\s+(?:in|inside|under|within)\\s+(.+)|\\s+does\\s+(.+?)\\s+(?:have|contain))?`, (m, q) => { const folder = folderIn(m[1] ?? m[2], q); return folder === undefined ? null : { do: 'folders', folder, how: 'count' }; }),
  rule('(?:count|how many of)\\s+(?:them|those|these|these files|those files|the files)|how many (?:are there|there are|they are|are they|are those|is that|were found)(?: of them)?', () => ({ do: 'them', how: 'count' })),
  rule(`${HOW_MANY}\\s+(.+)`, (m, q) => { const set = setOf(m[1]!, q); return set === null ? null : { do: 'files', set, how: 'count' }; }),

  // Which files have it?
  rule(`(?:in\\s+)?(?:which|what)\\s+(.+?)\\s+(?:is|are|do|does|can)\\s+(.+?)\\s+${OCCUR}${IN}`, (m, q) => { const place = setOf(m[1]!, q); const sought = soughtOf(m[2]!, q); const where = whereOf(m[3], q); return place === null || sought === null || where === null || EXTREMES.slice(0, -1).some(([p]) => p.test(m[2]!.replace(/^the /, ''))) ? null : { do: 'search', how: 'files', sought, where: both(where, place) }; }),
  rule(`(?:which|what|list|show|find|give|print|name|display|get|locate|search for|look for|tell me)(?:\\s+me)?(?:\\s+(?:all|the|of|every|names of|any))*\\s+(.+?)\\s+${CONTAIN}\\s+(.+)`, (m, q) => { if (speaksOfNames(m[2]!, q) || /\b(?:most|fewest|least) lines\b/i.test(m[2]!) || /\bwhose (?:file)?names?$/i.test(m[1]!)) return null; const place = setOf(m[1]!, q); const found = place === null ? null : soughtAndWhere(m[2]!, q); return found === null ? null : { do: 'search', how: 'files', sought: found.sought, where: both(found.where, place!) }; }),
  rule(`where\\s+(?:is|are|do|does|do we|did we)\\s+(?:the\\s+)?(.+?)\\s+${OCCUR}${IN}`, (m, q) => search(m[1]!, q, 'lines', m[2] ?? '')),

  rule(`where\\s+(?:do|did|does)\\s+(?:we|you|i|it|${PROJECT})\\s+(?:use|call|mention|import|reference|define|have|set)\\s+(.+)`, (m, q) => search(m[1]!, q, 'lines')),
  rule(`(?:what|which|show|list|find|print|display|give|get)(?:\\s+me)?(?:\\s+(?:all|the|every|any))*\\s+lines?\\s+(?:in|of|from)\\s+(.+?)\\s+${CONTAIN}\\s+(.+)`, (m, q) => search(m[2]!, q, 'lines', m[1])),

  // The largest, the newest.
  rule(`(?:(?:what|which|find|show|list|give|tell|name|get|print|display|who)\\b\\s*)?(?:me\\s+)?(?:(?:is|are|was|were|'s)\\s+)?(?:me\\s+)?(?:the\\s+)?(?:top\\s+)?(?:${COUNT}\\s+)?(${EXTREME})\\s+(?:${COUNT}\\s+)?(.+)`, (m, q) => extreme(m[2]!, m[4]!, m[1] ?? m[3], q)),
  rule(`(?:which|what)\\s+(.+?)\\s+(?:is|are|was|were|has|have|had)\\s+(?:the\\s+)?(${EXTREME}|most lines|fewest lines|least lines|most bytes|(?:changed|modified|edited|updated) (?:last|most recently))${IN}`, (m, q) => extreme(m[2]!, m[3] === undefined ? m[1]! : `${m[1]} in ${m[3]}`, undefined, q)),

  // Lists.
  rule("what(?:'s| is) (?:in )?here|(?:show|print|list|what is|display|give)(?: me)?(?: the)? (?:folder|directory|project|file)(?:'s)? (?:structure|tree|layout|listing)", () => ({ do: 'files', set: { names: '*', folder: null, deep: true, path: false }, how: 'list' })),
  rule('(?:list|show|print|name)(?: me)?\\s+(?:them|those|these|these files|those files)', () => ({ do: 'them', how: 'list' })),
  rule(`(?:list|show|display|print|find|get|give|name|what are|which|what|see)(?:\\s+me)?(?:\\s+(?:all|of|the|me))*\\s+(?:sub-?)?(?:folders|directories|subfolders|subdirectories)(?:\\s+(?:are there|are|exist|do we have|there are))?(?:\\s+(?:in|inside|under|within|of)\\s+(.+)|\\s+does\\s+(.+?)\\s+(?:have|contain))?`, (m, q) => { const folder = folderIn(m[1] ?? m[2], q); return folder === undefined ? null : { do: 'folders', folder, how: 'list' }; }),
  [/^(?:[Ll]ist|[Ss]how|[Ff]ind|[Pp]rint|[Ww]hat are|[Gg]et|[Gg]ive)(?:\s+me)?(?:\s+(?:all|the|of|every))*\s+([A-Z]{3,})(?:s|'s)?(?:\s+(?:comments?|markers?|notes?|tags))?(?:\s+(?:in|inside|within|under|across)\s+(.+))?$/, (m, q) => (BARE_NAMES.test(m[1]!) && !/^TODO$/.test(m[1]!) ? null : search(m[1]!, q, 'lines', m[2] ?? ''))],
  rule(`(?:find|locate|look for|search for(?= (?:(?:the|a|an|all|any|my|our) )*files? )|where(?:'s| is| are)|get me)\\s+(?:(?:the|a|an|all|any|my|our)\\s+)*(?:files?\\s+)?(?:(?:named|called)\\s+)?(.+?)(?:\\s+(?:located|stored|kept|saved|placed|defined))?(?:\\s+(?:in|inside|under|within)\\s+(.+))?`, (m, q) => { const file = quoteOf(m[1]!, q) !== undefined && !/\b(?:named|called)\b/i.test(m[0]!) && !/^where/i.test(m[0]!) ? null : fileOf(m[1]!, q); const folder = folderIn(m[2], q); return file === null || file === IT || folder === undefined ? null : { do: 'files', set: named(file, folder), how: 'list' }; }),
  rule(`(?:list|show|display|print|enumerate|find|get|give|name|see|what are|which are|what|which|output|locate|search for|look for)(?:\\s+me)?(?:\\s+(?:a list of|out|up))?(?:\\s+(?:all|of|the|every))*\\s+(.+)`, (m, q) => { const set = setOf(m[1]!, q); return set === null ? null : { do: 'files', set, how: 'list' }; }),
  rule(`(?:what(?:'s| is| are)|list what(?:'s| is)|show (?:me )?what(?:'s| is))\\s+(?:all\\s+)?(?:in|inside|under|within)\\s+(.+)|what\\s+(?:does|do)\\s+(.+?)\\s+(?:contain|have|hold|include)|(?:list|show|ls|dir|tree|explore|browse)(?:\\s+me)?(?:\\s+the)?(?:\\s+contents? of)?(?:\\s+(.+))?`, (m, q) => { const words = m[1] ?? m[2] ?? m[3] ?? ''; if (/\.\w+$/.test(fileOf(words, q) ?? '') || BARE_NAMES.test(fileOf(words, q) ?? '')) return null; if (/^show/i.test(m[0]!) && m[3] !== undefined && !/\/|folder|director/i.test(words)) return null; const folder = words === '' ? '' : readFolder(words, q); return folder === null ? null : { do: 'files', set: { names: '*', folder: folder === '' ? null : folder, deep: !/^ls|^dir/i.test(m[0]!), path: false }, how: 'list' }; }),

  // Reading.
  rule(`(?:(?:${SHOW}|what(?:'s| is| are| does))\\s+(?:on\\s+|in\\s+)?)?((?:the\\s+)?(?:lines?|rows?|first|last|top|bottom|initial|final|from line)\\b.*?)\\s+(?:of|from|in)\\s+(.+?)(?:\\s+says?)?`, (m, q) => { const range = linesOf(m[1]!); return range === null ? null : read(m[2]!, q, range); }),
  rule(`${SHOW}\\s+(.+?),?\\s+\\(?((?:from\\s+)?lines?\\s+\\d.*?|line\\s+\\d+)\\)?`, (m, q) => { const range = linesOf(m[2]!); return range === null ? null : read(m[1]!, q, range); }),
  rule('(head|tail)\\s+(?:-n\\s*)?(?:-?(\\d+)\\s+)?(?:of\\s+)?(.+)', (m, q) => read(m[3]!, q, m[1]!.toLowerCase() === 'head' ? { from: 1, to: Number(m[2] ?? 10) } : { from: -Number(m[2] ?? 10), to: null })),
  rule(`${SHOW}\\s+(?:(?:the|a|whole|entire|full|complete)\\s+)*(?:(?:contents?|text|source|source code|code)\\s+of\\s+)?(?:all\\s+(?:of\\s+)?)?(.+)`, (m, q) => read(m[1]!, q)),
  rule("what(?:'s| is| are)\\s+(?:written\\s+)?(?:in|inside|the (?:contents?|text) of)\\s+(.+)|what does\\s+(.+?)\\s+(?:say|contain|look like|hold|have in it|read)|(?:the )?(?:contents?|text) of\\s+(.+)|tell me what(?:'s| is) in\\s+(.+)", (m, q) => read((m[1] ?? m[2] ?? m[3] ?? m[4])!, q)),

  // Searching.
  rule(`(?:grep|rg|ag)\\s+((?:-\\w+\\s+)*)(?!(?:for|in|through|the|all)\\b)(${QUOTE}|\\S+)(?:\\s+(${WORD}))?`, (m, q) => { const intent = search(m[2]!, q, 'lines', m[3] ?? ''); return intent?.do === 'search' && /-\w*i/.test(m[1]!) ? { ...intent, sought: { ...intent.sought, ignoreCase: true } } : intent; }),
  rule('(?:search|grep|scan|look|rg|check)\\s+(?:in|through|inside|across|within|at)?\\s*(.+?)\\s+for\\s+(.+)', (m, q) => (whereOf(m[1]!, q) === null ? null : search(m[2]!, q, 'lines', m[1]))),
  rule(`(?:find|show|list|print|get|display|give|search for|look for)(?:\\s+me)?(?:\\s+(?:all|the|every|any|each|of|me))*\\s+(?:lines?|occurrences?|places?|uses?|usages?|references?|matches|mentions?|instances?|calls?|spots?)(?:\\s+in\\s+(.+?))?\\s+(?:of|to|for|where|that|with|which|containing|mentioning|matching|using|having|including)\\s+(?:(?:contain|mention|match|have|has|include|use|we use|you see)s?\\s+)?(.+)`, (m, q) => search(m[2]!, q, 'lines', m[1])),
  rule('(?:search|grep|look|scan|rg|hunt)(?:\\s+(?:everywhere|the (?:code|project|repo|files|codebase)))?(?:\\s+for)?\\s+(.+)', (m, q) => search(m[1]!, q, 'lines')),
  rule(`find\\s+(?:all\\s+)?(${QUOTE}|\\S+\\s+in\\s+.+)`, (m, q) => search(m[1]!, q, 'lines')),

  // The project, and what a file is.
  rule(`(?:what|which)\\s+(?:(?:programming|computer)\\s+)?languages?\\b.*|(?:what(?:'s| is) )?(?:the )?tech(?:nology)? stack(?: .*)?|(?:what|which) (?:is|was) ${PROJECT} (?:written|made|built|coded|programmed) (?:in|with)`, project('languages')),
  rule(`(?:which|what) commands?\\s+(?:can i run|runs? (?:the )?(?:tests|build|project)|do i run)|what can (?:i|we) run(?: here)?|how\\s+(?:do|can|should|would|does)\\s+(?:i|we|you|one)\\s+(?:run|build|test|start|install|compile|use|lint|launch)\\s+(?:${PROJECT}|it|the tests|tests)|(?:what|which|list|show)(?: me)?(?: are| is)?(?: the| all)*\\s+(?:npm\\s+)?(?:scripts|commands)(?:\\s+(?:are there|are defined|does .+ have|of .+|in .+|exist|can i run))?`, project('scripts')),
  rule(`(?:what|which|list|show)(?: me)?(?: are| is)?(?: the| all| its)*\\s+(?:dependencies|deps|packages|libraries)(?:\\s+.*)?|what does (?:it|${PROJECT}) depend on`, project('dependencies')),
  rule(`(?:what|where|which)(?: is| are|'s)?(?: the)?\\s+(?:main\\s+)?entry\\s*points?(?:\\s+.*)?|where does ${PROJECT} start`, project('entry')),
  rule(`what(?:'s| is)\\s+(?:the\\s+)?(name|version|license|licence|description|author)(?:\\s+(?:number|text))?(?:\\s+(?:of|in|for)\\s+${PROJECT})?|(?:what|which)\\s+(version|license|licence|author)\\s+(?:is|does|has)\\s+${PROJECT}(?:\\s+\\w+)?|who (?:is the author of|wrote|made) ${PROJECT}|what is ${PROJECT}(?:'s)? (?:called|named|(name|version|license|licence|description|author))`, (m) => { const word = (m[1] ?? m[2] ?? m[3] ?? (/^who/i.test(m[0]!) ? 'author' : 'name')).toLowerCase().replace('licence', 'license'); return { do: 'project', about: word as 'name' }; }),
  rule(`(?:what (?:kind|sort|type) of (?:project|thing|code|program|repo|app) is|what(?:'s| is| does| can)|explain|describe|summari[sz]e|introduce|analy[sz]e|review|understand|give (?:me )?(?:an? )?(?:\\w+ )?(?:overview|summary|introduction|description|idea) (?:of|to|about)|(?:an? )?(?:\\w+ )?(?:overview|summary) of|tell me (?:\\w+ )?about|what am i looking at|what do we have|walk me through|get (?:me )?an overview of)\\s*(?:what\\s+|is\\s+|how\\s+)?(?:${PROJECT}|here|everything|what we have)?(?:\\s+(?:does|do|is|is about|all about|about|for|here|structured|organi[sz]ed|works?|briefly|shortly|to me))*(?:\\s+(?:in|with) .{0,40})?`, project('all')),
  rule('(.+)', (m, q) => { const set = /\bfiles?\b|[*]/i.test(m[1]!) ? setOf(m[1]!, q) : null; return set === null ? null : { do: 'files', set, how: 'list' }; }),
  rule("(?:explain|describe|summari[sz]e|analy[sz]e|tell me about|what(?:'s| is)|give (?:me )?(?:an? )?(?:summary|overview|description) of|what does)\\s+(.+?)(?:\\s+(?:do|does|for|about|is for|to me|briefly))?", (m, q) => { const file = fileOf(m[1]!, q); return file === null ? null : { do: 'explain file', file }; }),
];

/** A place and the kind of files there. */
function both(where: Where, set: FileSet): Where {
  const folder = where.path ?? where.set?.folder ?? set.folder;
  if (where.them === true) return where;
  const names = where.set ?? set;
  return names.names === '*' && !names.path && names.deep ? (folder === null ? {} : { path: folder }) : { set: { ...names, folder } };
}
