/** What a file type is called, and how its files are. */

const ENDINGS: Readonly<Record<string, string>> = {
  asm: 's S asm', astro: 'astro', bat: 'bat cmd', c: 'c h', clojure: 'clj cljs cljc edn', cmake: 'cmake', cpp: 'cpp cc cxx hpp hh hxx h inl', cs: 'cs', csharp: 'cs', css: 'css scss sass less',
  csv: 'csv', dart: 'dart', diff: 'diff patch', elixir: 'ex exs eex heex', elm: 'elm', erlang: 'erl hrl', fsharp: 'fs fsi fsx', go: 'go', gradle: 'gradle gradle.kts', graphql: 'graphql gql',
  groovy: 'groovy gradle', h: 'h hh hpp', haskell: 'hs lhs', html: 'html htm', ini: 'ini cfg', java: 'java', js: 'js jsx mjs cjs vue', json: 'json jsonc jsonl', jsx: 'jsx', julia: 'jl', jupyter: 'ipynb',
  kotlin: 'kt kts', less: 'less', log: 'log', lua: 'lua', markdown: 'md markdown mdx', md: 'md markdown mdx', nix: 'nix', objc: 'm h', objcpp: 'mm h', ocaml: 'ml mli', perl: 'pl pm t', php: 'php phtml',
  powershell: 'ps1 psm1 psd1', prisma: 'prisma', proto: 'proto', protobuf: 'proto', ps: 'ps1 psm1 psd1', py: 'py pyi', python: 'py pyi', r: 'r R Rmd', rb: 'rb rake gemspec', rst: 'rst', ruby: 'rb rake gemspec',
  rust: 'rs', sass: 'sass scss', scala: 'scala sbt', sh: 'sh bash zsh fish', sol: 'sol', sql: 'sql', svelte: 'svelte', svg: 'svg', swift: 'swift', terraform: 'tf tfvars', tex: 'tex cls sty bib', tf: 'tf tfvars',
  toml: 'toml', ts: 'ts tsx mts cts', tsx: 'tsx', txt: 'txt', typescript: 'ts tsx mts cts', vim: 'vim', vue: 'vue', wasm: 'wat wast', xml: 'xml xsd xsl xslt', yaml: 'yaml yml', zig: 'zig',
};
/** Types that go by whole names. */
const NAMES: Readonly<Record<string, string>> = {
  cmake: 'CMakeLists.txt', docker: 'Dockerfile Containerfile', dockerfile: 'Dockerfile Containerfile', make: 'Makefile makefile GNUmakefile', rb: 'Gemfile Rakefile', ruby: 'Gemfile Rakefile', py: 'SConstruct', bazel: 'BUILD WORKSPACE',
};
const MORE: Readonly<Record<string, string>> = { docker: 'dockerfile', dockerfile: 'dockerfile', make: 'mk mak', bazel: 'bzl bazel' };

const words = (text: string | undefined): readonly string[] => text?.split(' ') ?? [];
export const typeNames = (): readonly string[] => [...new Set([...Object.keys(ENDINGS), ...Object.keys(NAMES)])].sort();
/** Tests a file's name; `null`: no such type. */
export function fileType(type: string): ((name: string) => boolean) | null {
  if (!Object.hasOwn(ENDINGS, type) && !Object.hasOwn(NAMES, type)) return null;
  const endings = [...words(ENDINGS[type]), ...words(MORE[type])].map((e) => `.${e}`);
  const names = new Set(words(Object.hasOwn(NAMES, type) ? NAMES[type] : undefined));
  return (name) => names.has(name) || endings.some((e) => name.endsWith(e));
}
