/** What clauses of English ask for: rules in order, the first that fits counts. A rule whose words are no file, folder or text does not fit. Clauses come with single spaces. */
import { BARE_NAMES, readFolder, WORD } from './file-set.ts';
import { IT } from './intents.ts';
import type { Intent, Lines, Measure } from './intents.ts';
import { both, contentOf, COUNT, fileOf, filesOf, folderIn, linesOf, named, numberOf, setOf, soughtAndWhere, soughtOf, trimmed, whereOf } from './phrases.ts';
import { asWritten, lower, QUOTE, quoteOf } from './words.ts';
import type { Quotes } from './words.ts';

export type Rule = readonly [RegExp, (m: readonly string[], q: Quotes) => Intent | null];
const rule = (pattern: string, make: Rule[1]): Rule => [new RegExp(`^(?:${pattern})$`, 'i'), make];

const search = (words: string, quotes: Quotes, how: Extract<Intent, { do: 'search' }>['how'], place?: string): Intent | null => {
  if (place === undefined) { const found = soughtAndWhere(words, quotes); return found === null ? null : { do: 'search', how, ...found }; }
  const where = whereOf(place, quotes);
  const sought = soughtOf(trimmed(words), quotes);
  return where === null || sought === null ? null : { do: 'search', how, sought, where };
};

/** Files of a kind that have a text. */
const having = (files: string, words: string, how: 'files' | 'count files', q: Quotes): Intent | null => {
  const set = speaksOfNames(words, q) ? null : setOf(files, q);
  const found = set === null ? null : soughtAndWhere(words, q);
  return set === null || found === null ? null : { do: 'search', how, sought: found.sought, where: both(found.where, set) };
};
const filesIn = (words: string, how: 'list' | 'count' | 'any', q: Quotes): Intent | null => {
  const set = setOf(words, q);
  return set === null ? null : { do: 'files', set, how };
};

const HOW_MANY = "(?:(?:count |check |find out |see )?how many|count(?: up)?(?: the)?(?: total)?(?: number of)?(?: all)?(?: the)?|(?:give|tell) me (?:the )?(?:total )?(?:number|count) of|(?:what(?:'s| is) )?(?:the )?(?:total )?(?:number|count|amount) of)";
const SHOW = '(?:read|show|print|open|cat|display|view|output|dump|see|give|get|type|list)(?: me)?(?: out)?';
const CONTAIN = "(?:that |which |do |does |who )?(?:contain|mention|use|import|include|reference|refer to|match|have|has|talk about|call|define|declare|say|depend on|(?:with|has|have) the (?:word|text|string|phrase))(?:s|es|ing)?";
const OCCUR = '(?:occur|appear|show up|come up|exist|mentioned|used|called|found|written|referenced|repeated|seen|be found|been used|imported|present|defined|declared)(?:s|ed)?';
const IN = '(?: (?:in|inside|within|across|throughout|under) (.+))?';
const KINDS = '(?:(?:plain|text|markdown|json|yaml|html|python|javascript|typescript|shell|bash|config|source|csv|simple|small) )*';

const exists = (kind: string | undefined, what: string, place: string | undefined, q: Quotes): Intent | null => {
  const folder = folderIn(place, q);
  if (folder === undefined) return null;
  const word = kind?.toLowerCase();
  const isFolder = word === 'folder' || word === 'directory' || / (?:folder|directory)$/i.test(what);
  const path = isFolder ? readFolder(what, q) : fileOf(what, q) ?? (word === 'file' ? lower(what, q) : null);
  if (path === null || path === '' || path === IT || /\s/.test(path) && quoteOf(what, q) === undefined) return null;
  return { do: 'exists', path, folder, kind: isFolder ? 'folder' : word === 'file' ? 'file' : null };
};
const write = (file: string, content: string, q: Quotes): Intent | null => {
  const path = fileOf(file, q);
  if (path === null || path === IT) return null;
  const text = content === '' ? '' : contentOf(content, q);
  return text === null ? UNQUOTED : { do: 'write', file: path, content: text };
};
const add = (content: string, file: string, at: 'end' | 'start', q: Quotes): Intent | null => {
  const path = fileOf(file, q);
  if (path === null) return null;
  const text = contentOf(content, q);
  return text === null ? UNQUOTED : { do: 'add', file: path, content: text, at };
};
/** What is not quoted may as well be a wish: `create a.py with a function that adds`. It is not written as it stands. */
const UNQUOTED: Intent = { do: 'unclear', why: 'Put into quotes what shall be written, word for word: create notes.txt with "…". I cannot make it up.' };
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
const PROJECT = '(?:(?:this|the|my|our|current|whole|entire) )*(?:project|repo|repository|codebase|code base|package|code|app|application|library|program|software|folder|directory|workspace)(?: here)?';
const project = (about: Extract<Intent, { do: 'project' }>['about']) => (): Intent => ({ do: 'project', about });

/** Speaks of names, not of contents. */
const speaksOfNames = (words: string, q: Quotes): boolean =>
  /\bnames?$|^(?:the\s+|an?\s+)?(?:file\s+)?(?:extensions?|suffix|endings?|names?)\b|^\S*\*\S*(?:\s|$)/i.test(words) || /^\*+\.\w+$/.test(quoteOf(words, q)?.text ?? '');

export const RULES: readonly Rule[] = [
  rule("(?:hi|hello|hey|greetings|good (?:morning|afternoon|evening|day))(?: there| you| tappet)?|(?:thanks|thank you|thx|cheers|great|perfect|cool|nice)(?: .{0,40})?",
    () => ({ do: 'help', greets: true })),
  rule("help|\\?|what (?:can|do|could) you (?:do|understand)(?: .*)?|what are you(?: able to do)?|who are you|(?:what|which) (?:model|llm|ai|assistant)(?: .*)?|are you (?:an? |the |really )?.*(?:model|ai|llm|human|bot|claude|gpt|person|machine)|how do you work|introduce yourself|who am i (?:talking|speaking) (?:to|with)",
    () => ({ do: 'help', greets: false })),

  // Commands. What is run is taken as it stands.
  rule(`(?:run|execute|exec|launch|invoke|start) (?:the )?(?:following )?(?:(?:shell|bash|terminal|console|command[- ]line) )?(?:command|program|code)?:? ?(${QUOTE})(?: (?:in|inside|from|under) (.+?))?(?: (?:with|using|in) (?:bash|(?:the|a) (?:shell|terminal)))?`,
    (m, q) => {
      const place = m[2] === undefined ? undefined : readFolder(m[2], q);
      return place === null ? null : run(lower(m[1]!, q), place === '' ? undefined : place);
    }),
  rule(`(?:what(?:'s| is) the output of|what does|(?:show|give|print)(?: me)? the output of|(?:the )?output of) (?:(?:running|executing|the command|command) )*(${QUOTE})(?: (?:print|output|say|return|give|show)s?(?: out)?)?`,
    (m, q) => { const line = lower(m[1]!, q); return quoteOf(m[1]!, q)?.kind !== 'backtick' || /^\S+\.\w+$/.test(line) ? null : run(line); }),
  rule('(?:run|execute|start) (?:(?:the|all|of|my|our|this project\'s) )*(?:(?:unit|integration|project) )?tests?(?: suite)?(?: of (?:this|the) project)?',
    () => ({ do: 'script', script: 'test' })),
  rule(`(?:run|start|do) (?:the )?build|build ${PROJECT}`, () => ({ do: 'script', script: 'build' })),
  rule('(?:run )?(?:the )?(?:linter|lint|linting)', () => ({ do: 'script', script: 'lint' })),
  rule('(?:run|execute|start) (?:the )?(?:npm |package )?(?:script )?([\\w:.-]+) script|(?:run|execute) (?:the )?(?:npm )?script (?:named |called )?([\\w:.-]+)',
    (m, q) => (fileOf((m[1] ?? m[2])!, q) !== null ? null : { do: 'script', script: (m[1] ?? m[2])! })),
  rule('(?:run|execute) (?:the command |command:? )?((?!(?:the|a|an|all|my|our|this|that|these|those|it|them|some|every|any|tests?|through|into|away|over|out|back|for|with|in|on|at|by|from|to|if|when|only|once|twice|again)\\b)(?:\\.{0,2}/)?[a-z_][\\w.+/-]*(?:\\s.*)?)',
    (m, q) => {
      const inside = /^(\S+(?:\s+-\S+)*(?:\s+\S+)?)\s+in\s+(?:the\s+)?(?:folder\s+|directory\s+)?(\S+?)(?:\s+(?:folder|directory))?$/i.exec(m[1]!);
      const place = inside === null ? null : readFolder(inside[2]!, q);
      return place === null ? run(asWritten(m[1]!, q)) : run(asWritten(inside![1]!, q), place === '' ? undefined : place);
    }),

  rule('(?:show|print|run|what(?:\'s| is))(?: me)?(?: the)? git (status|log|diff|branch)(?: of .*)?|(?:show|what(?:\'s| is))(?: me)?(?: the)? (?:commit )?(history)',
    (m) => run(m[1]?.toLowerCase() === 'log' || m[2] !== undefined ? 'git log --oneline -n 20' : m[1]?.toLowerCase() === 'branch' ? 'git branch --show-current' : `git ${m[1]!.toLowerCase()}`)),
  rule(`${HOW_MANY} commits?(?: .*)?`, () => run('git rev-list --count HEAD')),
  rule('(?:what|which)(?: git)? branch(?: is this| am i on| are we on| is checked out)?|what(?:\'s| is) the current(?: git)? branch', () => run('git branch --show-current')),
  rule('what (?:has )?changed|what did (?:i|we) change|(?:what|which) files (?:have |were |are |did (?:i|we) )?(?:changed?|modified)|what are the (?:uncommitted )?changes',
    () => run('git status --short')),

  // Changes of files.
  rule(`(?:append|add|insert|put|write) (?:(?:the|a|an|another|one more|this|following|new) )*(?:(?:line|text|sentence|entry|word|content|paragraph|comment|note)s? ?)?(?:(?:saying|reading|that says|with(?: the)? (?:text|contents?)|containing|of) )?:? ?(.+?) (?:to|at|on|onto|into|in|as) (?:the )?(?:very )?(end|bottom|last line|beginning|start|top|first line|front|head)(?: of)? (.+)`,
    (m, q) => add(m[1]!, m[3]!, /end|bottom|last/i.test(m[2]!) ? 'end' : 'start', q)),
  rule(`append (?:(?:the|a|an|another|one more|this|following|new) )*(?:(?:line|text|sentence|entry|word|content|paragraph|comment|note)s? ?)?(?:(?:saying|reading|that says|containing) )?:? ?(.+?) (?:to|onto) (.+)`,
    (m, q) => add(m[1]!, m[2]!, 'end', q)),
  rule(`(?:add|insert) (?:(?:the|a|an|another|one more|this|following|new) )*(?:(?:line|text|sentence|entry|word|content|paragraph|comment|note)s? ?)?(?:(?:saying|reading|that says|containing) )?:? ?(${QUOTE}) (?:to|into|onto|in) (.+)`,
    (m, q) => add(m[1]!, m[2]!, 'end', q)),
  rule(`(?:append|add) to (?:the file )?(${WORD}):? (?:the )?(?:(?:line|text|words?)s?:? )?(.+)`, (m, q) => add(m[2]!, m[1]!, 'end', q)),
  rule(`prepend (?:(?:the|a|an|this|line|text|words?|sentence|comment|new) )*:? ?(.+?) (?:to|onto|in) (.+)`, (m, q) => add(m[1]!, m[2]!, 'start', q)),
  rule(`(?:replace|change|substitute|swap|turn|rename) (?:(?:all|every|each|the|any|of) )*(?:(?:occurrences?|instances?) of )?(?:(?:the )?(?:word|text|string|line|phrase|name|version)s? )?(.+?) (?:with|by|to|into|for|->|=>) (?:the )?(?:(?:word|text|string|line|phrase) )?(.+?) (?:everywhere )?(?:in|inside|within|of) (.+)`,
    (m, q) => {
      const file = fileOf(m[3]!, q);
      if (file === null) return null;
      const word = (text: string): string | null => contentOf(text, q) ?? (/^\S+$/.test(text) && (/^(?:replace|substitute|swap|rename)\b/i.test(m[0]!) || /\b(?:occurrences?|instances?) of\b/i.test(m[0]!)) ? text : null);
      const [from, to] = [word(m[1]!), word(m[2]!)];
      return from === null || to === null ? UNQUOTED : { do: 'replace', file, from, to };
    }),
  rule(`(?:write|put|save|store|dump|output) (?:(?:the|this|following|a) )*(?:(?:text|contents?|words?|line|string|sentence) ?)*:? ?(.+?) (?:in|into|to|inside|as|under) (?:(?:a|an|the) )?(?:new )?((?:(?:text )?file )?(?:(?:named|called) )?${WORD}(?: file)?)`,
    (m, q) => (fileOf(m[1]!, q) !== null && quoteOf(m[1]!, q) === undefined ? null : write(m[2]!.replace(/^text\s+/i, ''), m[1]!, q))),
  rule(`(?:create|write|make|add|generate|save|produce|set up) (?:(?:a|an|the|me|another) )*(?:new )?${KINDS}((?:(?:file|document|script|note) )?(?:(?:named|called|at) )?${WORD}(?: file)?) ?[,:]? ?(?:(?:with|containing|that (?:contains|says|reads|has)|which (?:contains|says|has|reads)|saying|whose contents? (?:is|are|reads?)|and (?:write|put)(?: in it)?|holding|having|reading)(?: |(?=:))(?:(?:the|this|a|one|single|following|exact|only|just|as) )*(?:(?:contents?|text|lines?|words?|body|string|sentence) ?)*(?:(?:of|being|is|reads?|saying|that says) )*:? ?|: ?)(.+?)(?: (?:in(?:side)? it|as (?:its )?contents?))?`,
    (m, q) => write(m[1]!, m[2]!, q)),
  rule(`(?:create|make|touch|add|generate) (?:(?:a|an|the|me|another) )*(?:(?:new|empty|blank) )*${KINDS}((?:(?:file|document|script|note) )?(?:(?:named|called|at) )?${WORD}(?: file)?)(?: (?:that is empty|without (?:any )?contents?|with no contents?))?`,
    (m, q) => write(m[1]!, '', q)),

  // Is it there?
  rule(`(?:does|do) (?:(?:the|a|an|my|our|any) )*(?:(file|folder|directory) )?(?:(?:named|called) )?(.+?) (?:already )?exist(?: (?:in|inside|under|within|below) (.+)| (?:here|already|yet|anywhere))?`,
    (m, q) => exists(m[1], m[2]!, m[3], q)),
  rule(`(?:(?:check|see|test|verify|find out|determine|tell me) (?:if|whether|that)|is|whether|if) (?:(?:there (?:is|exists)|there's|there) )?(?:already )?(?:(?:the|a|an|my|our|any) )*(?:(file|folder|directory) )?(?:(?:named|called|with the name) )?(.+?)(?: (?:already )?(?:exists?|is there|is present|present|there|missing|is missing))?(?: (?:in|inside|under|within|below) (.+?))?(?: (?:here|already|anywhere|exists?))?`,
    (m, q) => exists(m[1], m[2]!, m[3], q)),
  rule(`(?:do|does) (?:we|you|i|it|${PROJECT}) (?:have|contain|include|come with) (?:(?:the|a|an|any) )*(?:(file|folder|directory) )?(?:(?:named|called) )?(.+?)(?: (?:in|inside|under|within|below) (.+))?`,
    (m, q) => exists(m[1], m[2]!, m[3], q)),
  rule(`(?:do|does) (?:the )?(?:folder |directory )?(${WORD})(?: folder| directory)? (?:have|contain|include|hold) (?:(?:the|a|an|any) )*(file|folder|directory) (?:(?:named|called) )?(.+)`,
    (m, q) => exists(m[2], m[3]!, m[1], q)),
  rule(`(?:do|does) (?:any|some) (.+?) ${CONTAIN} (.+)|(?:are|is) there (?:any|some|a) (.+?) (?:that|which) ${CONTAIN} (.+)`,
    (m, q) => having((m[1] ?? m[3])!, (m[2] ?? m[4])!, 'files', q)),
  rule(`(?:do|does|is|are) (?:the )?(?:file )?(${WORD}) (?:contain|mention|include|have|use|say|import|match)s? (.+)`,
    (m, q) => (fileOf(m[1]!, q) === null || fileOf(m[1]!, q) === IT ? null : search(m[2]!, q, 'lines', m[1]))),
  [/^(?:[Aa]re|[Ii]s) there (?:any |some |a )?([A-Z]{3,})(?:s|'s)?(?:\s+(?:comments?|markers?|notes?|tags?))?(?:\s+(?:left|remaining))?(?:\s+(?:in|inside|within|under|across)\s+(.+))?$/,
    (m, q) => (BARE_NAMES.test(m[1]!) && m[1] !== 'TODO' ? null : search(m[1]!, q, 'lines', m[2] ?? ''))],
  rule(`(?:are|is) there (?:any|some|a|an)? ?(.+)|(?:do|does) (?:we|you|i|it|${PROJECT}) (?:have|contain|include) (?:any|some)? ?(.+)`,
    (m, q) => filesIn((m[1] ?? m[2])!, 'any', q)),

  // How many?
  rule(`${HOW_MANY} (?:lines?|rows?) (?:(?:in|of) (.+?) )?(?:contain|mention|match|have|include|with|say|hold|start with|that contain|that mention|that match|that have|which contain|which mention|that include|containing|mentioning|matching|including|having) (.+)`,
    (m, q) => search(m[2]!, q, 'count lines', m[1])),
  rule(`${HOW_MANY} (?:lines?|rows?)(?: of (?:code|text|source(?: code)?))?(?: (.*))?|(?:what(?:'s| is) )?(?:the )?(?:line count|length) (?:of|for|in) (.+?)(?: in lines)?|how long is (.+?)(?: in lines)?|count (.+?)(?:'s)? lines|how many lines long is (.+)`,
    (m, q) => lines(m[1] ?? m[2] ?? m[3] ?? m[4] ?? m[5] ?? '', q)),
  rule(`how (?:many times|often|frequently) (?:does|do|is|are|has|did|can|was|were) (.+?) ${OCCUR}(?: (?:in|inside|within|across|throughout|under) (.+))?`,
    (m, q) => search(m[1]!, q, 'count times', m[2] ?? '')),
  rule(`(?:count )?how (?:many times|often) (.+?) (?:is |are |gets? )?${OCCUR}(?: (?:in|inside|within|across|throughout|under) (.+))?`,
    (m, q) => (/^(?:does|do|is|are)\b/i.test(m[1]!) ? null : search(m[1]!, q, 'count times', m[2] ?? ''))),
  rule(`count (?:all |the )*(?:(?:word|text|string) )?(${QUOTE})${IN}`, (m, q) => search(m[1]!, q, 'count times', m[2] ?? '')),
  rule(`how (?:many times|often) (?:does|do) (.+?) (?:contain|mention|use|have|include|say|call|import)s? (.+)`,
    (m, q) => (whereOf(m[1]!, q) === null ? null : search(m[2]!, q, 'count times', m[1]))),
  rule(`${HOW_MANY} (?:occurrences?|instances?|mentions?|uses?|usages?|matches|appearances?|references?|hits|times) (?:of|to|for) (.+)`,
    (m, q) => search(m[1]!.replace(/\s+(?:are|is|do|does) (?:there|we have|it have)(?=\s|$)/i, ''), q, 'count times')),
  [/^(?:[Hh]ow many|[Cc]ount(?: the| all| the number of)*|(?:the )?[Nn]umber of)\s+([A-Z]{3,})(?:s|'s)?(?:\s+(?:comments?|markers?|notes?|tags))?(?:\s+(?:are there|are|is there|there are|do we have|exist))?(?:\s+(?:in|inside|within|under|across)\s+(.+))?$/,
    (m, q) => search(m[1]!, q, 'count times', m[2] ?? '')],
  rule(`${HOW_MANY} (.+?) ${CONTAIN} (.+)`, (m, q) => having(m[1]!, m[2]!, 'count files', q)),
  rule(`${HOW_MANY} (words?|characters?|chars?|letters?|bytes?) (?:(?:are there|are|is there|does|do|has|in|of|there are) )*(.+?)(?: (?:have|has|contain|contains|there))?|how (?:big|large) is (.+)|(?:what(?:'s| is) )?(?:the )?(?:file )?size of (.+)`,
    (m, q) => {
      const file = fileOf((m[2] ?? m[3] ?? m[4])!, q);
      const unit = /^w/i.test(m[1] ?? '') ? 'words' : /^[cl]/i.test(m[1] ?? '') ? 'characters' : 'bytes';
      return file === null ? null : { do: 'text size', file, unit };
    }),
  rule(`${HOW_MANY} (?:different |sub-?)?(?:folders|directories|subfolders|subdirectories)(?: (?:are there|are|is there|there are|do we have|exist))?(?: (?:in|inside|under|within) (.+)| does (.+?) (?:have|contain))?`,
    (m, q) => { const folder = folderIn(m[1] ?? m[2], q); return folder === undefined ? null : { do: 'folders', folder, how: 'count' }; }),
  rule('(?:count|how many of) (?:them|those|these|these files|those files|the files)|how many (?:are there|there are|they are|are they|are those|is that|were found)(?: of them)?',
    () => ({ do: 'them', how: 'count' })),
  rule(`${HOW_MANY} (.+)`, (m, q) => filesIn(m[1]!, 'count', q)),

  // Which files have it?
  rule(`(?:in )?(?:which|what) (.+?) (?:is|are|do|does|can) (.+?) ${OCCUR}${IN}`,
    (m, q) => {
      const place = setOf(m[1]!, q);
      const sought = soughtOf(m[2]!, q);
      const where = whereOf(m[3], q);
      return place === null || sought === null || where === null || EXTREMES.slice(0, -1).some(([p]) => p.test(m[2]!.replace(/^the /, ''))) ? null : { do: 'search', how: 'files', sought, where: both(where, place) };
    }),
  rule(`(?:which|what|list|show|find|give|print|name|display|get|locate|search for|look for|tell me)(?: me)?(?: (?:all|the|of|every|names of|any))* (.+?) ${CONTAIN} (.+)`,
    (m, q) => (/\b(?:most|fewest|least) lines\b/i.test(m[2]!) || /\bwhose (?:file)?names?$/i.test(m[1]!) ? null : having(m[1]!, m[2]!, 'files', q))),
  rule(`where (?:is|are|do|does|do we|did we) (?:the )?(.+?) ${OCCUR}${IN}`, (m, q) => search(m[1]!, q, 'lines', m[2] ?? '')),

  rule(`where (?:do|did|does) (?:we|you|i|it|${PROJECT}) (?:use|call|mention|import|reference|define|have|set) (.+)`, (m, q) => search(m[1]!, q, 'lines')),
  rule(`(?:what|which|show|list|find|print|display|give|get)(?: me)?(?: (?:all|the|every|any))* lines? (?:in|of|from) (.+?) ${CONTAIN} (.+)`,
    (m, q) => search(m[2]!, q, 'lines', m[1])),

  // The largest, the newest.
  rule(`(?:(?:what|which|find|show|list|give|tell|name|get|print|display|who)\\b ?)?(?:me )?(?:(?:is|are|was|were|'s) )?(?:me )?(?:the )?(?:top )?(?:${COUNT} )?(${EXTREME}) (?:${COUNT} )?(.+)`,
    (m, q) => extreme(m[2]!, m[4]!, m[1] ?? m[3], q)),
  rule(`(?:which|what) (.+?) (?:is|are|was|were|has|have|had) (?:the )?(${EXTREME}|most lines|fewest lines|least lines|most bytes|(?:changed|modified|edited|updated) (?:last|most recently))${IN}`,
    (m, q) => extreme(m[2]!, m[3] === undefined ? m[1]! : `${m[1]} in ${m[3]}`, undefined, q)),

  // Lists.
  rule("what(?:'s| is) (?:in )?here|(?:show|print|list|what is|display|give)(?: me)?(?: the)? (?:folder|directory|project|file)(?:'s)? (?:structure|tree|layout|listing)",
    () => ({ do: 'files', set: { names: '*', folder: null, deep: true, path: false }, how: 'list' })),
  rule('(?:list|show|print|name)(?: me)? (?:them|those|these|these files|those files)', () => ({ do: 'them', how: 'list' })),
  rule(`(?:list|show|display|print|find|get|give|name|what are|which|what|see)(?: me)?(?: (?:all|of|the|me))* (?:sub-?)?(?:folders|directories|subfolders|subdirectories)(?: (?:are there|are|exist|do we have|there are))?(?: (?:in|inside|under|within|of) (.+)| does (.+?) (?:have|contain))?`,
    (m, q) => { const folder = folderIn(m[1] ?? m[2], q); return folder === undefined ? null : { do: 'folders', folder, how: 'list' }; }),
  [/^(?:[Ll]ist|[Ss]how|[Ff]ind|[Pp]rint|[Ww]hat are|[Gg]et|[Gg]ive)(?:\s+me)?(?:\s+(?:all|the|of|every))*\s+([A-Z]{3,})(?:s|'s)?(?:\s+(?:comments?|markers?|notes?|tags))?(?:\s+(?:in|inside|within|under|across)\s+(.+))?$/,
    (m, q) => (BARE_NAMES.test(m[1]!) && !/^TODO$/.test(m[1]!) ? null : search(m[1]!, q, 'lines', m[2] ?? ''))],
  rule(`(?:find|locate|look for|search for(?= (?:(?:the|a|an|all|any|my|our) )*files? )|where(?:'s| is| are)|get me) (?:(?:the|a|an|all|any|my|our) )*(?:files? )?(?:(?:named|called) )?(.+?)(?: (?:located|stored|kept|saved|placed|defined))?(?: (?:in|inside|under|within) (.+))?`,
    (m, q) => {
      const file = quoteOf(m[1]!, q) !== undefined && !/\b(?:named|called)\b/i.test(m[0]!) && !/^where/i.test(m[0]!) ? null : fileOf(m[1]!, q);
      const folder = folderIn(m[2], q);
      return file === null || file === IT || folder === undefined ? null : { do: 'files', set: named(file, folder), how: 'list' };
    }),
  rule(`(?:list|show|display|print|enumerate|find|get|give|name|see|what are|which are|what|which|output|locate|search for|look for)(?: me)?(?: (?:a list of|out|up))?(?: (?:all|of|the|every))* (.+)`,
    (m, q) => (/^(?:search|look) for\b/i.test(m[0]!) && !/\bfiles?\b/i.test(m[1]!) ? null : filesIn(m[1]!, 'list', q))),
  rule(`(?:what(?:'s| is| are)|list what(?:'s| is)|show (?:me )?what(?:'s| is)) (?:all )?(?:in|inside|under|within) (.+)|what (?:does|do) (.+?) (?:contain|have|hold|include)|(?:list|show|ls|dir|tree|explore|browse)(?: me)?(?: the)?(?: contents? of)?(?: (.+))?`,
    (m, q) => {
      const words = m[1] ?? m[2] ?? m[3] ?? '';
      if (/\.\w+$/.test(fileOf(words, q) ?? '') || BARE_NAMES.test(fileOf(words, q) ?? '')) return null;
      if (/^show/i.test(m[0]!) && m[3] !== undefined && !/\/|folder|director/i.test(words)) return null;
      const folder = words === '' ? '' : readFolder(words, q);
      return folder === null ? null : { do: 'files', set: { names: '*', folder: folder === '' ? null : folder, deep: !/^ls|^dir/i.test(m[0]!), path: false }, how: 'list' };
    }),

  // Reading.
  rule(`(?:(?:${SHOW}|what(?:'s| is| are| does)) (?:on |in )?)?((?:the )?(?:lines?|rows?|first|last|top|bottom|initial|final|from line)\\b.*?) (?:of|from|in) (.+?)(?: says?)?`,
    (m, q) => { const range = linesOf(m[1]!); return range === null ? null : read(m[2]!, q, range); }),
  rule(`${SHOW} (.+?),? \\(?((?:from )?lines? \\d.*?|line \\d+)\\)?`, (m, q) => { const range = linesOf(m[2]!); return range === null ? null : read(m[1]!, q, range); }),
  rule('(head|tail) (?:-n ?)?(?:-?(\\d+) )?(?:of )?(.+)',
    (m, q) => read(m[3]!, q, m[1]!.toLowerCase() === 'head' ? { from: 1, to: Number(m[2] ?? 10) } : { from: -Number(m[2] ?? 10), to: null })),
  rule(`${SHOW} (?:(?:the|a|whole|entire|full|complete) )*(?:(?:contents?|text|source|source code|code) of )?(?:all (?:of )?)?(.+)`, (m, q) => read(m[1]!, q)),
  rule("what(?:'s| is| are) (?:written )?(?:in|inside|the (?:contents?|text) of) (.+)|what does (.+?) (?:say|contain|look like|hold|have in it|read)|(?:the )?(?:contents?|text) of (.+)|tell me what(?:'s| is) in (.+)",
    (m, q) => read((m[1] ?? m[2] ?? m[3] ?? m[4])!, q)),

  // Searching.
  rule(`(?:grep|rg|ag) ((?:-\\w+ )*)(?!(?:for|in|through|the|all)\\b)(${QUOTE}|\\S+)(?: (${WORD}))?`,
    (m, q) => {
      const intent = search(m[2]!, q, 'lines', m[3] ?? '');
      return intent?.do === 'search' && /-\w*i/.test(m[1]!) ? { ...intent, sought: { ...intent.sought, ignoreCase: true } } : intent;
    }),
  rule('(?:search|grep|scan|look|rg|check) (?:in|through|inside|across|within|at)? ?(.+?) for (.+)',
    (m, q) => (whereOf(m[1]!, q) === null ? null : search(m[2]!, q, 'lines', m[1]))),
  rule(`(?:find|show|list|print|get|display|give|search for|look for)(?: me)?(?: (?:all|the|every|any|each|of|me))* (?:lines?|occurrences?|places?|uses?|usages?|references?|matches|mentions?|instances?|calls?|spots?)(?: in (.+?))? (?:of|to|for|where|that|with|which|containing|mentioning|matching|using|having|including) (?:(?:contain|mention|match|have|has|include|use|we use|you see)s? )?(.+)`,
    (m, q) => search(m[2]!, q, 'lines', m[1])),
  rule('(?:search|grep|look|scan|rg|hunt)(?: (?:everywhere|the (?:code|project|repo|files|codebase)))?(?: for)? (.+)', (m, q) => search(m[1]!, q, 'lines')),
  rule(`find (?:all )?(${QUOTE}|\\S+ in .+)`, (m, q) => search(m[1]!, q, 'lines')),

  // The project, and what a file is.
  rule(`(?:what|which) (?:(?:programming|computer) )?languages?\\b.*|(?:what(?:'s| is) )?(?:the )?tech(?:nology)? stack(?: .*)?|(?:what|which) (?:is|was) ${PROJECT} (?:written|made|built|coded|programmed) (?:in|with)`,
    project('languages')),
  rule(`(?:which|what) commands? (?:can i run|runs? (?:the )?(?:tests|build|project)|do i run)|what can (?:i|we) run(?: here)?|how (?:do|can|should|would|does) (?:i|we|you|one) (?:run|build|test|start|install|compile|use|lint|launch) (?:${PROJECT}|it|the tests|tests)|(?:what|which|list|show)(?: me)?(?: are| is)?(?: the| all)* (?:npm )?(?:scripts|commands)(?: (?:are there|are defined|does .+ have|of .+|in .+|exist|can i run))?`,
    project('scripts')),
  rule(`(?:what|which|list|show)(?: me)?(?: are| is)?(?: the| all| its)* (?:dependencies|deps|packages|libraries)(?: .*)?|what does (?:it|${PROJECT}) depend on`,
    project('dependencies')),
  rule(`(?:what|where|which)(?: is| are|'s)?(?: the)? (?:main )?entry ?points?(?: .*)?|where does ${PROJECT} start`, project('entry')),
  rule(`what(?:'s| is) (?:the )?(name|version|license|licence|description|author)(?: (?:number|text))?(?: (?:of|in|for) ${PROJECT})?|(?:what|which) (version|license|licence|author) (?:is|does|has) ${PROJECT}(?: \\w+)?|who (?:is the author of|wrote|made) ${PROJECT}|what is ${PROJECT}(?:'s)? (?:called|named|(name|version|license|licence|description|author))`,
    (m) => {
      const word = (m[1] ?? m[2] ?? m[3] ?? (/^who/i.test(m[0]!) ? 'author' : 'name')).toLowerCase().replace('licence', 'license');
      return { do: 'project', about: word as 'name' };
    }),
  rule(`what (?:kind|sort|type) of (?:project|thing|code|program|repo|app) is (?:this|it)|(?:what(?:'s| is| does| can)|explain|describe|summari[sz]e|introduce|analy[sz]e|review|understand|give (?:me )?(?:an? )?(?:\\w+ )?(?:overview|summary|introduction|description|idea) (?:of|to|about)|(?:an? )?(?:\\w+ )?(?:overview|summary) of|tell me (?:\\w+ )?about|what am i looking at|what do we have|walk me through|get (?:me )?an overview of) ?(?:what |is |how )?(?:${PROJECT}|here|everything|what we have)?(?: (?:does|do|is|is about|all about|about|for|here|structured|organi[sz]ed|works?|briefly|shortly|to me))*(?: (?:in|with) (?:a few|few|one|two|three|short|brief|simple|plain|more|your|\\d+) .{0,40})?`,
    project('all')),
  rule('(.+)', (m, q) => (/\bfiles?\b|[*]/i.test(m[1]!) ? filesIn(m[1]!, 'list', q) : null)),
  rule("(?:explain|describe|summari[sz]e|analy[sz]e|tell me about|what(?:'s| is)|give (?:me )?(?:an? )?(?:summary|overview|description) of|what does) (.+?)(?: (?:do|does|for|about|is for|to me|briefly))?",
    (m, q) => { const file = fileOf(m[1]!, q); return file === null ? null : { do: 'explain file', file }; }),
];
