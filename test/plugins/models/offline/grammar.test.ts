import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { FileSet } from '../../../../plugins/models/offline/file-set.ts';
import { parsePrompt } from '../../../../plugins/models/offline/grammar.ts';
import { IT } from '../../../../plugins/models/offline/intents.ts';
import type { Intent, Where } from '../../../../plugins/models/offline/intents.ts';

const set = (s: FileSet): string => `${s.names}${s.folder === null ? '' : ` @${s.folder}`}${s.deep ? '' : ' flat'}`;
const where = (w: Where): string => (w.them === true ? ' in them' : w.path !== undefined ? ` in ${w.path}` : w.set !== undefined ? ` in ${set(w.set)}` : '');
const it = (file: string): string => (file === IT ? 'IT' : file);
/** An intent in one line. */
function short(i: Intent | null): string {
  if (i === null) return '?';
  switch (i.do) {
    case 'help': return i.greets ? 'hello' : 'help';
    case 'unclear': return 'unclear';
    case 'run': return `run ${i.command}`;
    case 'script': return `script ${i.script}`;
    case 'write': return `write ${i.file} ${JSON.stringify(i.content)}`;
    case 'add': return `add ${it(i.file)} ${i.at} ${JSON.stringify(i.content)}`;
    case 'replace': return `replace ${it(i.file)} ${i.from} -> ${i.to}`;
    case 'exists': return `exists ${i.path}${i.folder === null ? '' : ` @${i.folder}`}${i.kind === null ? '' : ` (${i.kind})`}`;
    case 'files': return `${i.how} ${set(i.set)}`;
    case 'folders': return `${i.how} folders${i.folder === null ? '' : ` @${i.folder}`}`;
    case 'them': return `${i.how} them`;
    case 'lines': return `lines${i.where === null ? ` ${i.files.map(it).join(' ')}` : where(i.where)}`;
    case 'text size': return `${i.unit} ${it(i.file)}`;
    case 'search': return `${i.how}: ${i.sought.shown}${i.sought.ignoreCase ? ' any case' : ''}${where(i.where)}`;
    case 'extreme': return `${i.most ? 'most' : 'least'} ${i.by} ${i.n}: ${set(i.set)}`;
    case 'read': return `read ${i.files.map(it).join(' ')}${i.lines === null ? '' : ` ${i.lines.from}..${i.lines.to ?? ''}`}`;
    case 'explain file': return `explain ${it(i.file)}`;
    case 'project': return `project ${i.about}`;
  }
}

const PHRASES: readonly (readonly [prompt: string, meaning: string])[] = [
  ['list files', 'list *'],
  ['show me all TypeScript files', 'list *.{ts,tsx,mts,cts}'],
  ['list all the files in src', 'list * @src'],
  ['what files are in the docs folder?', 'list * @docs'],
  ['list *.ts files in src/', 'list *.ts @src'],
  ['find all files ending in .md', 'list *.md'],
  ['which files have the extension json?', 'list *.json'],
  ['which files end with .test.ts?', 'list *.test.ts'],
  ['list files with extension .yaml in config', 'list *.yaml @config'],
  ['list all the .txt and .md files under notes', 'list *.{txt,md} @notes'],
  ['list markdown files in docs and its subfolders', 'list *.{md,markdown} @docs'],
  ['list the files directly in src', 'list * @src flat'],
  ['files starting with test_', 'list test_*'],
  ['show files whose name contains util', 'list *util*'],
  ['list hidden files', 'list .*'],
  ['show me all the images', 'list *.{png,jpg,jpeg,gif,svg,webp}'],
  ['find all test files', 'list {*.test.*,*.spec.*,*_test.*,test_*.*}'],
  ['ls src', 'list * @src flat'],
  ['what is in the src folder?', 'list * @src'],
  ['show me what\'s in src', 'list * @src'],
  ['what\'s here?', 'list *'],
  ['show the directory structure', 'list *'],
  ['list the folders', 'list folders'],
  ['what directories are there in packages?', 'list folders @packages'],
  ['how many folders are there in src?', 'count folders @src'],
  ['find files named index.ts', 'list index.ts'],
  ['find the file called "my notes.txt"', 'list my notes.txt'],
  ['where is config.yaml?', 'list config.yaml'],
  ['locate package.json in packages', 'list package.json @packages'],
  ['read README.md', 'read README.md'],
  ['can you open the README?', 'read README'],
  ['print the contents of a.txt', 'read a.txt'],
  ['what are the contents of LICENSE?', 'read LICENSE'],
  ['what does package.json say?', 'read package.json'],
  ['what\'s in notes.txt?', 'read notes.txt'],
  ['read a.txt and b.txt', 'read a.txt b.txt'],
  ['cat "my file.txt"', 'read my file.txt'],
  ['print lines 3-9 of src/a.ts', 'read src/a.ts 3..9'],
  ['read src/a.ts lines 5 to 7', 'read src/a.ts 5..7'],
  ['show line 4 of a.txt', 'read a.txt 4..4'],
  ['show the first 10 lines of README.md', 'read README.md 1..10'],
  ['first 3 lines of a.txt', 'read a.txt 1..3'],
  ['show the last five lines of log.txt', 'read log.txt -5..'],
  ['read from line 10 to 20 of a.txt', 'read a.txt 10..20'],
  ['head -n 5 a.txt', 'read a.txt 1..5'],
  ['search for TODO', 'lines: "TODO"'],
  ['grep for "foo bar" in src', 'lines: "foo bar" in src'],
  ['search src for foo', 'lines: "foo" in src'],
  ['look in src for "foo"', 'lines: "foo" in src'],
  ['search for the word hello in *.md files', 'lines: "hello" in *.md'],
  ['search for \'TODO\' in all ts files under src', 'lines: "TODO" in *.ts @src'],
  ['find all occurrences of "x.y" in docs', 'lines: "x.y" in docs'],
  ['show me the lines that contain error in app.log', 'lines: "error" in app.log'],
  ['show the lines of app.log that contain ERROR', 'lines: "ERROR" in app.log'],
  ['what lines in README.md mention install?', 'lines: "install" in README.md'],
  ['where is parseConfig used?', 'lines: "parseConfig"'],
  ['where do we use lodash?', 'lines: "lodash"'],
  ['grep /foo\\d+/ in src', 'lines: /foo\\d+/ in src'],
  ['grep -ri "needle" src', 'lines: "needle" any case in src'],
  ['look for sign in in src', 'lines: "sign in" in src'],
  ['find "hello" in docs', 'lines: "hello" in docs'],
  ['list all TODOs in src', 'lines: "TODO" in src'],
  ['are there any TODOs in src', 'lines: "TODO" in src'],
  ['search for foo in src ignoring case', 'lines: "foo" any case in src'],
  ['does README.md mention "install"?', 'lines: "install" in README.md'],
  ['how many files are there?', 'count *'],
  ['how many TypeScript files are in src?', 'count *.{ts,tsx,mts,cts} @src'],
  ['how many ts files are there in src?', 'count *.ts @src'],
  ['count files in docs', 'count * @docs'],
  ['what is the number of json files?', 'count *.json'],
  ['how many files does src contain?', 'count * @src'],
  ['Could you please count how many .ts files exist in src?', 'count *.ts @src'],
  ['how many lines does README.md have?', 'lines README.md'],
  ['count the lines of src/a.ts', 'lines src/a.ts'],
  ['how long is a.txt?', 'lines a.txt'],
  ['how many lines of code are there in src?', 'lines in src'],
  ['how many lines are in all ts files?', 'lines in *.ts'],
  ['count the lines in each ts file', 'lines in *.ts'],
  ['how many words are in README.md?', 'words README.md'],
  ['how big is a.txt?', 'bytes a.txt'],
  ['how many lines contain foo in src?', 'count lines: "foo" in src'],
  ['how many lines in a.txt contain "foo"?', 'count lines: "foo" in a.txt'],
  ['how many times does foo occur in a.txt?', 'count times: "foo" in a.txt'],
  ['count how often foo appears in a.txt', 'count times: "foo" in a.txt'],
  ['how many times does a.txt mention foo?', 'count times: "foo" in a.txt'],
  ['count "foo" in a.txt', 'count times: "foo" in a.txt'],
  ['count occurrences of foo in src', 'count times: "foo" in src'],
  ['how many TODOs are there in src?', 'count times: "TODO" in src'],
  ['In src, how many files are there?', 'count * @src'],
  ['in README.md, how many times does "foo" appear?', 'count times: "foo" in README.md'],
  ['how many files contain foo?', 'count files: "foo"'],
  ['how many ts files mention "foo" in src?', 'count files: "foo" in *.ts @src'],
  ['which files mention "foo"?', 'files: "foo"'],
  ['which files in src use parseConfig?', 'files: "parseConfig" in src'],
  ['in which files is foo used?', 'files: "foo"'],
  ['list files containing "a b" in docs', 'files: "a b" in docs'],
  ['find files that import lodash', 'files: "lodash"'],
  ['do any files mention "foo"?', 'files: "foo"'],
  ['create a file hello.txt with "Hi there"', 'write hello.txt "Hi there"'],
  ['create notes/todo.md with the content "# Todo"', 'write notes/todo.md "# Todo"'],
  ['make a new file called a.txt containing the text \'abc\'', 'write a.txt "abc"'],
  ['create a.txt with the lines "one", "two" and "three"', 'write a.txt "one\\ntwo\\nthree\\n"'],
  ['write "a\\nb" to out.txt', 'write out.txt "a\\nb"'],
  ['create config.json with {"a": 1}', 'write config.json "{\\"a\\": 1}"'],
  ['create a.sh with "echo `date`"', 'write a.sh "echo `date`"'],
  ['create a file test.sh with `echo hi` in it', 'write test.sh "echo hi"'],
  ['create an empty file x.txt', 'write x.txt ""'],
  ['touch y.txt', 'write y.txt ""'],
  ['append "last line" to notes.txt', 'add notes.txt end "last line"'],
  ['add the line "x" to notes.txt', 'add notes.txt end "x"'],
  ['add "first" to the top of notes.txt', 'add notes.txt start "first"'],
  ['replace "a" with "b" in notes.txt', 'replace notes.txt a -> b'],
  ['change all occurrences of foo to bar in src/a.ts', 'replace src/a.ts foo -> bar'],
  ['in notes.txt, replace "x" by "y"', 'replace notes.txt x -> y'],
  ['create a.py with a function that adds two numbers', 'unclear'],
  ['write unit tests for a.ts in a.test.ts', 'unclear'],
  ['write hello to a.txt', 'unclear'],
  ['add a comment to the top of a.ts', 'unclear'],
  ['replace foo with bar in a.txt', 'replace a.txt foo -> bar'],
  ['change the colour to red in style.css', 'unclear'],
  ['run through the code', '?'],
  ['run `ls -la`', 'run ls -la'],
  ['run npm test', 'run npm test'],
  ['run node -e "console.log(1)"', 'run node -e "console.log(1)"'],
  ['run `echo "a b"`', 'run echo "a b"'],
  ['run `pwd` in src', 'run cd src && pwd'],
  ['run ls in src', 'run cd src && ls'],
  ['what is the output of `date`?', 'run date'],
  ['run the tests', 'script test'],
  ['build the project', 'script build'],
  ['run the lint script', 'script lint'],
  ['show git status', 'run git status'],
  ['how many commits are there?', 'run git rev-list --count HEAD'],
  ['does README.md exist?', 'exists README.md'],
  ['is there a file named foo.txt?', 'exists foo.txt (file)'],
  ['is there any file named a.b in src?', 'exists a.b @src (file)'],
  ['does src contain a file named b.txt?', 'exists b.txt @src (file)'],
  ['check whether package.json exists in packages', 'exists package.json @packages'],
  ['does the folder src exist?', 'exists src (folder)'],
  ['is there a docs folder?', 'exists docs (folder)'],
  ['are there any python files?', 'any *.py'],
  ['what is the largest file?', 'most bytes 1: *'],
  ['which file in src is the biggest?', 'most bytes 1: * @src'],
  ['find the 3 newest files in docs', 'most time 3: * @docs'],
  ['which ts file has the most lines?', 'most lines 1: *.ts'],
  ['what\'s the smallest markdown file?', 'least bytes 1: *.{md,markdown}'],
  ['which file was changed last?', 'most time 1: *'],
  ['longest file in src', 'most lines 1: * @src'],
  ['what is this project?', 'project all'],
  ['what does this repo do?', 'project all'],
  ['give me an overview of the codebase', 'project all'],
  ['tell me about this project', 'project all'],
  ['what kind of project is this?', 'project all'],
  ['what language is this project written in?', 'project languages'],
  ['how do I run this project?', 'project scripts'],
  ['what are the dependencies?', 'project dependencies'],
  ['what is the entry point?', 'project entry'],
  ['what version is this project?', 'project version'],
  ['who wrote this project?', 'project author'],
  ['explain src/a.ts', 'explain src/a.ts'],
  ['what does src/a.ts do?', 'explain src/a.ts'],
  ['list the ts files and then count them', 'list *.ts | count them'],
  ['find the largest file in src and read it', 'most bytes 1: * @src | read IT'],
  ['create a.txt with "x" and then run `cat a.txt`', 'write a.txt "x" | run cat a.txt'],
  ['read README.md. Then tell me how many lines it has', 'read README.md | lines IT'],
  ['read README.md and count its lines', 'read README.md | lines IT'],
  ['Find every file that mentions "needle" and tell me how many there are', 'files: "needle" | count them'],
  ['List files in src; count lines of README.md; run `ls`', 'list * @src | lines README.md | run ls'],
  ['open package.json and show me the colours', 'read package.json | ?'],
  ['hello', 'hello'],
  ['who are you?', 'help'],
  ['what can you do?', 'help'],
  ['write me a poem', '?'],
  ['fix the bug in src/a.ts', '?'],
  ['refactor the code', '?'],
  ['delete a.txt', '?'],
  ['rename a.txt to b.txt', '?'],
  ['copy a.txt to b.txt', '?'],
  ['which files don\'t have tests?', '?'],
  ['don\'t run `rm -rf x`', '?'],
  ['list all files with their sizes', '?'],
  ['list the functions in src/a.ts', '?'],
];
for (const [prompt, meaning] of PHRASES) {
  test(`understands: ${prompt}`, () => assert.equal(parsePrompt(prompt).map((p) => short(p.intent)).join(' | '), meaning));
}

test('what stands in a fence is content, whatever words it has', () => {
  const [one, ...more] = parsePrompt('create a.md with:\n```md\nlist files. Then run `x`; and "y"\n\n- z\n```\n');
  assert.equal(more.length, 0);
  assert.equal(short(one!.intent), 'write a.md "list files. Then run `x`; and \\"y\\"\\n\\n- z\\n"');
});

test('steps may be numbered lines', () => {
  assert.deepEqual(parsePrompt('1. list files\n2) read a.txt\n- count its lines').map((p) => short(p.intent)), ['list *', 'read a.txt', 'lines IT']);
});

test('property: any text is taken apart in no time, and its clauses are its own words', () => {
  const word = fc.constantFrom('list', 'files', 'in', 'that', 'contain', 'and', 'then', 'how many', 'lines', 'of', 'the', 'all', 'a.ts', 'src', '"x y"', "'q", '`run`', '*.md', '/re/', '.', ',', '?', 'create', 'with', 'it', 'replace', 'by', '\n', '```');
  fc.assert(fc.property(fc.oneof(fc.array(word, { maxLength: 60 }).map((w) => w.join(' ')), fc.string({ unit: 'binary', maxLength: 200 })), (prompt) => {
    for (const { clause } of parsePrompt(prompt)) assert.ok(!/[\ue000-\ue002]/.test(clause));
  }), { numRuns: 500 });
});

test('a very long prompt is not understood rather than thought about', () => {
  assert.deepEqual([...new Set(parsePrompt('in the folder of all files that contain '.repeat(2000)).map((p) => short(p.intent)))], ['?']);
});
