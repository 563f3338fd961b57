import { join } from 'node:path';
import type { CatalogObject, CatalogProblem } from '../../core/catalog.ts';
import { maxConfigurationBytes, readBoundedFile, RefusedFile } from '../../process/bounded-file.ts';
import { type ManifestEntry, type ParseManifest, parseManifest } from './parse.ts';
import { type Walk, walk } from './walk.ts';

export interface Manifests {
  /** Every object of the folder, files in the order of their paths. */
  readonly objects: readonly CatalogObject[];
  /** Problems of files; `compile` finds the problems of objects. */
  readonly problems: readonly CatalogProblem[];
}

/** One file as it was last read. */
interface KnownFile extends SettledFile {
  /** Undefined when it could not be read. */
  readonly text: string | undefined;
}
export type KnownFiles = ReadonlyMap<string, KnownFile>;

export interface Reading extends Manifests {
  readonly files: KnownFiles;
}

const parseHere: ParseManifest = (file, text) => Promise.resolve(parseManifest(file, text));

/** Reads a folder once, for as long as it takes. Never throws: a missing folder or a broken file is a problem. */
export async function readManifests(dir: string): Promise<Manifests> {
  const { objects, problems } = await readFolder({
    dir,
    walked: await walk(dir),
    known: new Map(),
    check: () => [],
    parse: parseHere,
  });
  return { objects, problems };
}

/** Reads the objects of one text. Never throws: a broken text is a problem. */
export async function parseManifests(name: string, text: string): Promise<Manifests> {
  const { objects, problems } = await settle({
    ...{ path: name, text, before: undefined, check: () => [], parse: parseHere },
  });
  return { objects, problems };
}

interface ReadFolderOptions {
  readonly dir: string;
  readonly walked: Walk;
  readonly known: KnownFiles;
  readonly check: CheckObject;
  readonly parse: ParseManifest;
}

/** Reads the files that changed since the last reading. A file that cannot be read or parsed keeps its last good objects. */
export async function readFolder({ dir, walked, known, check, parse }: ReadFolderOptions): Promise<Reading> {
  const files = new Map<string, KnownFile>();
  const problems = [...walked.problems];
  for (const path of walked.files) {
    const before = known.get(path);
    const read = await readText(join(dir, path));
    if (read.kind === 'gone') continue;
    if (read.kind === 'text')
      files.set(
        path,
        before?.text === read.text ? before : await settle({ path, text: read.text, before, check, parse }),
      );
    else {
      const problem = { where: path, field: '', message: read.message };
      const good = before?.good ?? [];
      files.set(path, { text: undefined, objects: good, good, problems: [problem] });
    }
  }
  for (const [path, file] of known) {
    const isHidden =
      !walked.found || walked.unreadable.some((hidden) => path === hidden || path.startsWith(`${hidden}/`));
    if (isHidden && !files.has(path)) files.set(path, file);
  }
  const ordered = new Map([...files].sort(([a], [b]) => (a < b ? -1 : 1)));
  const all = [...ordered.values()];
  return {
    files: ordered,
    objects: all.flatMap(({ objects }) => objects),
    problems: [...problems, ...all.flatMap((file) => file.problems)],
  };
}

interface SettleOptions {
  readonly path: string;
  readonly text: string;
  readonly before: KnownFile | undefined;
  readonly check: CheckObject;
  readonly parse: ParseManifest;
}

async function settle({ path, text, before, check, parse }: SettleOptions): Promise<KnownFile> {
  const last = before?.good ?? [];
  // Many programs empty a file before they write it, so an empty file does not yet remove its objects.
  if (text.trim() === '' && last.length > 0) {
    const message = 'expected objects; remove the file to remove those it had';
    return { text, objects: last, good: last, problems: [{ where: path, field: '', message }] };
  }
  const entries = await parse(path, text);
  return { text, ...settleFile(entries, { last, check }) };
}

type ReadText =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'gone' }
  | { readonly kind: 'unreadable'; readonly message: string };

async function readText(path: string): Promise<ReadText> {
  try {
    const bytes = await readBoundedFile(path, maxConfigurationBytes);
    return { kind: 'text', text: new TextDecoder('utf-8', { fatal: true }).decode(bytes) };
  } catch (error) {
    if (error instanceof RefusedFile) {
      const isLarge = error.reason === 'too-large';
      const message = isLarge
        ? `expected at most ${maxConfigurationBytes} bytes, split the file`
        : 'expected a regular file';
      return { kind: 'unreadable', message };
    }
    if (error instanceof TypeError) return { kind: 'unreadable', message: 'expected text in UTF-8' };
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return { kind: 'gone' };
    return { kind: 'unreadable', message: 'expected something readable: check its permissions' };
  }
}

/** Returns the problems of one object, without the problems of its references to other objects. */
export type CheckObject = (object: CatalogObject) => readonly CatalogProblem[];

interface SettledFile {
  /** The objects that the file adds to the catalog now. */
  readonly objects: readonly CatalogObject[];
  /** The objects to fall back on when the file turns bad. */
  readonly good: readonly CatalogObject[];
  readonly problems: readonly CatalogProblem[];
}

/**
 * Decides which objects a changed file adds to the catalog. Good objects count at once. As long as the file has a broken
 * object, its last good objects stay wherever the new text has no good object of the same name: it is unknown which of
 * them the broken text was to replace. A broken object that replaces nothing is passed on, for its valid parts.
 */
export function settleFile(
  entries: readonly ManifestEntry[],
  { last, check }: { readonly last: readonly CatalogObject[]; readonly check: CheckObject },
): SettledFile {
  const parsed = entries.flatMap((entry) => (entry.kind === 'object' ? [entry.object] : []));
  const syntax = entries.flatMap((entry) => (entry.kind === 'broken' ? [entry.problem] : []));
  const checked = parsed.map((object) => ({ object, problems: check(object) }));
  const good = checked.flatMap(({ object, problems }) => (problems.length === 0 ? [object] : []));
  const bad = checked.filter(({ problems }) => problems.length > 0);
  if (bad.length + syntax.length === 0) return { objects: good, good, problems: [] };

  const names = new Set(good.map(nameOf));
  const kept = last.filter((object) => !names.has(nameOf(object)));
  const keptNames = new Set(kept.map(nameOf));
  const passed = bad.filter(({ object }) => isPassedOn(nameOf(object), { kept, keptNames }));
  const isPassed = new Set(passed);
  const held = bad.filter((entry) => !isPassed.has(entry));
  return {
    objects: [...good, ...kept, ...passed.map(({ object }) => object)],
    good: [...good, ...kept],
    // Compiling the catalog finds and reports the problems of the objects that are passed on.
    problems: [
      ...syntax,
      ...held.flatMap(({ object, problems }) => problems.map((problem) => ({ ...problem, object: nameOf(object) }))),
    ],
  };
}

function isPassedOn(
  name: string | undefined,
  { kept, keptNames }: { readonly kept: readonly CatalogObject[]; readonly keptNames: ReadonlySet<string | undefined> },
): boolean {
  return kept.length === 0 || (name !== undefined && !keptNames.has(name));
}

/** Kind and name; undefined when the object lacks one of them. */
function nameOf({ value }: CatalogObject): string | undefined {
  const kind = fieldOf(value, 'kind');
  const name = fieldOf(fieldOf(value, 'metadata'), 'name');
  return typeof kind === 'string' && typeof name === 'string' ? `${kind}/${name}` : undefined;
}

function fieldOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;
}
