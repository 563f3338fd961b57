import { Buffer } from 'node:buffer';
import type { Stats } from 'node:fs';
import { basename, dirname } from 'node:path';
import type { Chance } from '../programmable-engine/chance.ts';
import type { Files } from '../../src/books/databases/machine.ts';

/** A write that is not synced yet. `size`: the file was cut to it. */
type Unsynced = { readonly at: number; readonly bytes: Buffer } | { readonly size: number };

/** A file. Its content survives a power cut as far as it was synced. */
export interface SimulatedFile {
  readonly current: Bytes;
  readonly durable: Bytes;
  unsynced: Unsynced[];
}

/** Bytes that grow in place. */
export interface Bytes {
  readonly size: () => number;
  readonly write: (bytes: Uint8Array, at: number) => void;
  readonly truncate: (size: number) => void;
  /** A view of the content, until the next change. */
  readonly view: () => Buffer;
}

function createBytes(content: Buffer = Buffer.alloc(0)): Bytes {
  let buffer = content;
  let size = content.length;
  const reserve = (bytes: number): void => {
    if (bytes <= buffer.length) return;
    const larger = Buffer.alloc(Math.max(bytes, buffer.length * 2, 4096));
    buffer.copy(larger, 0, 0, size);
    buffer = larger;
  };
  return {
    size: () => size,
    write: (bytes, at) => {
      reserve(at + bytes.length);
      buffer.set(bytes, at);
      size = Math.max(size, at + bytes.length);
    },
    truncate: (to) => {
      reserve(to);
      if (to < size) buffer.fill(0, to, size);
      size = to;
    },
    view: () => buffer.subarray(0, size),
  };
}

/** What is wrong with a disk. `cannot-sync`: it takes writes, and says that they may be lost. */
export type DiskTrouble = 'none' | 'full' | 'fails' | 'cannot-sync';

/** What changes files or their names. */
export const fileOperations = [
  'write',
  'truncation',
  'sync',
  'sync of a folder',
  'new file',
  'removal',
  'renaming',
] as const;
export type FileOperation = (typeof fileOperations)[number];

/**
 * A disk with the promises of a real one and no others: what was not synced is lost, or torn, at a power cut. Names are
 * durable when their folder was synced.
 */
export interface Disk {
  readonly files: Files;
  readonly open: (path: string, options: { readonly create: boolean }) => SimulatedFile | undefined;
  readonly exists: (path: string) => boolean;
  readonly remove: (path: string) => void;
  readonly write: (file: SimulatedFile, bytes: Uint8Array, at: number) => void;
  readonly truncate: (file: SimulatedFile, size: number) => void;
  readonly sync: (file: SimulatedFile) => void;
  readonly syncFolder: (folder: string) => void;
  readonly setTrouble: (trouble: DiskTrouble) => void;
  /** Calls `run` before the operation after so many others. If it returns true, the machine has no power, and nothing more is changed. */
  readonly atOperation: (after: number, run: (operation: FileOperation) => boolean) => void;
  /** Loses what was not synced: each write survives, is torn or is lost, as chance has it. */
  readonly cutPower: (chance: Chance) => void;
  /** All bytes that were ever durable or current, for a look at what they contain. */
  readonly contents: () => readonly (readonly [string, Buffer])[];
}

const sectorBytes = 512;

export function createDisk(): Disk {
  const folders = new Set(['/']);
  let names = new Map<string, SimulatedFile>();
  let durableNames = new Map<string, SimulatedFile>();
  const handles = new Map<
    number,
    { readonly path: string; readonly file: SimulatedFile | undefined; isAppend: boolean }
  >();
  let nextHandle = 100;
  let trouble: DiskTrouble = 'none';

  function fail(code: string, path: string): never {
    throw Object.assign(new Error(`${code}: simulated, '${path}'`), { code });
  }

  let isWithoutPower = false;
  let planned: { after: number; readonly run: (operation: FileOperation) => boolean }[] = [];

  /** Before each operation. */
  function begin(operation: FileOperation, path: string): void {
    for (const each of isWithoutPower ? [] : planned) each.after -= 1;
    const due = planned.filter(({ after }) => after < 0);
    if (due.length > 0) planned = planned.filter(({ after }) => after >= 0);
    for (const { run } of due) if (run(operation)) isWithoutPower = true;
    if (isWithoutPower) fail('EIO', path);
  }

  function refuseTrouble(path: string, grows: boolean): void {
    if (trouble === 'fails') fail('EIO', path);
    if (trouble === 'full' && grows) fail('ENOSPC', path);
  }

  function refuseToSync(path: string): void {
    if (trouble === 'fails' || trouble === 'cannot-sync') fail('EIO', path);
  }

  function write(file: SimulatedFile, bytes: Uint8Array, at: number): void {
    begin('write', 'file');
    refuseTrouble('file', at + bytes.length > file.current.size());
    const copy = Buffer.from(bytes);
    file.current.write(copy, at);
    file.unsynced.push({ at, bytes: copy });
  }

  function truncate(file: SimulatedFile, size: number): void {
    begin('truncation', 'file');
    if (trouble === 'fails') fail('EIO', 'file');
    file.current.truncate(size);
    file.unsynced.push({ size });
  }

  function sync(file: SimulatedFile): void {
    begin('sync', 'file');
    refuseToSync('file');
    apply(file.durable, file.unsynced);
    file.unsynced = [];
  }

  function open(path: string, { create }: { readonly create: boolean }): SimulatedFile | undefined {
    const known = names.get(path);
    if (known !== undefined || !create) return known;
    begin('new file', path);
    refuseTrouble(path, true);
    const made: SimulatedFile = { current: createBytes(), durable: createBytes(), unsynced: [] };
    names.set(path, made);
    return made;
  }

  function syncFolder(folder: string): void {
    begin('sync of a folder', folder);
    refuseToSync(folder);
    for (const path of durableNames.keys()) if (dirname(path) === folder && !names.has(path)) durableNames.delete(path);
    for (const [path, file] of names) if (dirname(path) === folder) durableNames.set(path, file);
  }

  const handleOf = (handle: number) => handles.get(handle) ?? fail('EBADF', String(handle));
  const fileOf = (handle: number): SimulatedFile => handleOf(handle).file ?? fail('EISDIR', String(handle));
  const bytesOf = (data: unknown): Buffer =>
    typeof data === 'string' ? Buffer.from(data, 'latin1') : Buffer.from(data as Uint8Array);

  const files = {
    chmodSync: () => undefined,
    existsSync: (path: string) => names.has(path) || folders.has(path),
    mkdirSync: (path: string) => {
      for (let at = path; at !== '/'; at = dirname(at)) folders.add(at);
      return undefined;
    },
    openSync: (path: string, flags: string | number) => {
      const handle = nextHandle;
      nextHandle += 1;
      if (folders.has(path)) {
        handles.set(handle, { path, file: undefined, isAppend: false });
        return handle;
      }
      const isNew = flags === 'ax' || flags === 'wx';
      if (isNew && names.has(path)) fail('EEXIST', path);
      const file = open(path, { create: flags !== 'r' }) ?? fail('ENOENT', path);
      handles.set(handle, { path, file, isAppend: typeof flags === 'string' && flags.startsWith('a') });
      return handle;
    },
    closeSync: (handle: number) => void handles.delete(handle),
    writeSync: (handle: number, data: Uint8Array | string, at?: number) => {
      const { isAppend } = handleOf(handle);
      const file = fileOf(handle);
      const bytes = bytesOf(data);
      // With bytes the third parameter is an offset in them, and with a text it is a position in the file.
      const part = isAppend ? bytes.subarray(at ?? 0) : bytes;
      write(file, part, isAppend ? file.current.size() : (at ?? 0));
      return part.length;
    },
    readSync: (handle: number, buffer: Buffer, offset: number, length: number, position: number) => {
      const { current } = fileOf(handle);
      return current.view().copy(buffer, offset, position, Math.min(current.size(), position + length));
    },
    fsyncSync: (handle: number) => {
      const { path, file } = handleOf(handle);
      if (file === undefined) syncFolder(path);
      else sync(file);
    },
    fdatasyncSync: (handle: number) => sync(fileOf(handle)),
    ftruncateSync: (handle: number, size: number) => truncate(fileOf(handle), size),
    readFileSync: (path: string, encoding?: BufferEncoding) => {
      if (trouble === 'fails') fail('EIO', path);
      const file = names.get(path) ?? fail('ENOENT', path);
      const content = Buffer.from(file.current.view());
      return encoding === undefined ? content : content.toString(encoding);
    },
    readdirSync: (folder: string) =>
      [...names.keys()]
        .filter((path) => dirname(path) === folder)
        .toSorted()
        .map((path) => ({ name: basename(path), isFile: () => true, isDirectory: () => false })),
    renameSync: (from: string, to: string) => {
      begin('renaming', from);
      refuseTrouble(from, false);
      const file = names.get(from) ?? fail('ENOENT', from);
      names.delete(from);
      names.set(to, file);
    },
    statSync: (path: string, options?: { readonly throwIfNoEntry?: boolean }) => {
      const file = names.get(path);
      if (file !== undefined)
        return { size: file.current.size(), uid: 0, gid: 0, isDirectory: () => false } as unknown as Stats;
      return options?.throwIfNoEntry === false ? undefined : fail('ENOENT', path);
    },
    unlinkSync: (path: string) => {
      begin('removal', path);
      refuseTrouble(path, false);
      if (!names.delete(path)) fail('ENOENT', path);
    },
    writeFileSync: (path: string, data: Uint8Array) => {
      const file = open(path, { create: true })!;
      truncate(file, 0);
      write(file, data, 0);
      sync(file);
    },
  };

  return {
    files: files as unknown as Files,
    open,
    exists: (path) => names.has(path),
    remove: (path) => {
      begin('removal', path);
      names.delete(path);
    },
    write,
    truncate,
    sync,
    syncFolder,
    setTrouble: (now) => {
      trouble = now;
    },
    atOperation: (after, run) => void planned.push({ after, run }),
    cutPower: (chance) => {
      isWithoutPower = false;
      handles.clear();
      names = new Map();
      for (const [path, file] of durableNames) {
        apply(
          file.durable,
          file.unsynced.flatMap((change) => surviving(change, chance)),
        );
        const { durable } = file;
        names.set(path, { current: createBytes(Buffer.from(durable.view())), durable, unsynced: [] });
      }
      durableNames = new Map(names);
    },
    contents: () => [...names].map(([path, { current }]) => [path, current.view()] as const),
  };
}

/** The part of a write that reaches the disk although it was not synced: all of it, some sectors, or nothing. */
function surviving(change: Unsynced, chance: Chance): readonly Unsynced[] {
  if ('size' in change) return chance() < 0.5 ? [change] : [];
  const fate = chance();
  if (fate < 0.4) return [change];
  if (fate < 0.7) return [];
  const parts: Unsynced[] = [];
  for (let from = 0; from < change.bytes.length; from += sectorBytes) {
    if (chance() < 0.5) parts.push({ at: change.at + from, bytes: change.bytes.subarray(from, from + sectorBytes) });
  }
  return parts;
}

function apply(to: Bytes, changes: readonly Unsynced[]): void {
  for (const change of changes) {
    if ('size' in change) to.truncate(change.size);
    else to.write(change.bytes, change.at);
  }
}
