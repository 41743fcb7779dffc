/** What a clause can ask for. */
import type { FileSet } from './file-set.ts';

/** Stands for a file that was spoken of: `it`, `them`. */
export const IT = '\ue002';

export interface Sought { /** For Grep. */ readonly regex: string; readonly shown: string; readonly ignoreCase: boolean }
/** Where to look: a path (file or folder), files by their names, or everywhere (both absent). */
export interface Where { readonly path?: string | undefined; readonly set?: FileSet | undefined; /** The files that were spoken of. */ readonly them?: true | undefined }
export interface Lines { readonly from: number; /** Null: to the end; counted from the end where `from` is negative. */ readonly to: number | null }
export type Measure = 'bytes' | 'lines' | 'time';

export type Intent =
  | { readonly do: 'help'; readonly greets: boolean }
  /** Nearly understood; what is missing is said. */
  | { readonly do: 'unclear'; readonly why: string }
  | { readonly do: 'run'; readonly command: string }
  | { readonly do: 'script'; readonly script: string }
  | { readonly do: 'write'; readonly file: string; readonly content: string }
  | { readonly do: 'add'; readonly file: string; readonly content: string; readonly at: 'end' | 'start' }
  | { readonly do: 'replace'; readonly file: string; readonly from: string; readonly to: string }
  | { readonly do: 'exists'; readonly path: string; readonly folder: string | null; readonly kind: 'file' | 'folder' | null }
  | { readonly do: 'files'; readonly set: FileSet; readonly how: 'list' | 'count' | 'any' }
  | { readonly do: 'folders'; readonly folder: string | null; readonly how: 'list' | 'count' }
  | { readonly do: 'them'; readonly how: 'list' | 'count' }
  | { readonly do: 'lines'; readonly files: readonly string[]; readonly where: Where | null }
  | { readonly do: 'text size'; readonly file: string; readonly unit: 'words' | 'characters' | 'bytes' }
  | { readonly do: 'search'; readonly sought: Sought; readonly where: Where; readonly how: 'lines' | 'files' | 'count lines' | 'count files' | 'count times' }
  | { readonly do: 'extreme'; readonly by: Measure; readonly most: boolean; readonly set: FileSet; readonly n: number }
  | { readonly do: 'read'; readonly files: readonly string[]; readonly lines: Lines | null }
  | { readonly do: 'explain file'; readonly file: string }
  | { readonly do: 'project'; readonly about: 'all' | 'languages' | 'scripts' | 'dependencies' | 'entry' | 'name' | 'version' | 'license' | 'description' | 'author' };
