import { dirname } from 'node:path';
import sqlite3InitModule, { type Sqlite3Static } from '@sqlite.org/sqlite-wasm';
import type { SqliteDriver } from '../../src/books/databases/machine.ts';
import type { Disk, SimulatedFile } from './disk.ts';
import { type Api, openConnection } from './sqlite-connection.ts';

/** SQLite's locks of a file (https://sqlite.org/c3ref/c_lock_exclusive.html). */
const [unlocked, shared, reserved, exclusive] = [0, 1, 2, 4];
/** Slots of the lock of a WAL's shared memory. */
const walLocks = 8;
/** Flags of `xShmLock` (https://sqlite.org/c3ref/c_shm_exclusive.html), which the module does not export. */
const [shmUnlock, shmExclusive] = [1, 8];

/** The shared memory of the connections to one file. */
interface SharedMemory {
  readonly regions: number[];
  readonly holders: (Set<number> | undefined)[];
  readonly isExclusive: boolean[];
  users: number;
}

interface OpenFile {
  readonly path: string;
  readonly file: SimulatedFile;
  readonly disk: Disk;
  readonly owner: Owner;
  readonly isTemporary: boolean;
  readonly isReadOnly: boolean;
  lock: number;
  hasShared: boolean;
  needsFolderSync: boolean;
}

/** The program that has files open. After its death none of its writes reach the disk. */
export interface Owner {
  readonly isAlive: () => boolean;
}

/** What befalls a program's connections. */
export interface SqliteTroubles {
  /** Whether the lock that it asks for next is held by another process. */
  readonly isHeld: () => boolean;
  /** Whether a commit that was made is reported as failed, as if its sync had failed. Absent: none is. */
  readonly losesCommit?: () => boolean;
}

/** SQLite, compiled to WebAssembly, whose files are on simulated disks. Loaded once for all worlds. */
export interface SimulatedSqlite {
  readonly driverOn: (disk: Disk, owner: Owner, troubles: SqliteTroubles) => SqliteDriver;
  /** Seeds SQLite's own chance, such as the salts of a WAL. */
  readonly seed: (chance: () => number) => void;
  /** Closes what the programs of a world have left open, and forgets the shared memory. */
  readonly forgetAll: () => void;
}

let loaded: Promise<SimulatedSqlite> | undefined;

export function loadSqlite(): Promise<SimulatedSqlite> {
  loaded ??= sqlite3InitModule().then(install);
  return loaded;
}

const vfsName = 'simulated';

function install(sqlite3: Sqlite3Static): SimulatedSqlite {
  const api: Api = sqlite3;
  const { capi, wasm } = api;
  const { SQLITE_BUSY } = capi;
  const openFiles = new Map<number, OpenFile>();
  const memories = new Map<SimulatedFile, SharedMemory>();
  const connections = new Map<number, () => void>();
  let chance: () => number = () => 0;
  let opening: { readonly disk: Disk; readonly owner: Owner } | undefined;
  const busyOf = new Map<Owner, () => boolean>();

  const errorOf = (error: unknown, usual: number): number =>
    error instanceof Error && 'code' in error && error.code === 'ENOSPC' ? capi.SQLITE_FULL : usual;
  const fileAt = (pointer: number): OpenFile => openFiles.get(pointer)!;

  function memoryOf({ file }: OpenFile): SharedMemory {
    let memory = memories.get(file);
    if (memory === undefined) {
      memory = { regions: [], holders: [], isExclusive: [], users: 0 };
      memories.set(file, memory);
    }
    return memory;
  }

  function leaveMemory(pointer: number, open: OpenFile): void {
    if (!open.hasShared) return;
    open.hasShared = false;
    const memory = memoryOf(open);
    for (let at = 0; at < walLocks; at += 1) {
      if (memory.holders[at]?.delete(pointer) === true && memory.holders[at]?.size === 0)
        memory.isExclusive[at] = false;
    }
    memory.users -= 1;
    if (memory.users > 0) return;
    for (const region of memory.regions) wasm.dealloc(region);
    memories.delete(open.file);
  }

  const others = (pointer: number, { file }: OpenFile): readonly OpenFile[] =>
    [...openFiles].filter(([at, open]) => at !== pointer && open.file === file).map(([, open]) => open);

  const io = {
    xClose: (pointer: number) => {
      const open = openFiles.get(pointer);
      if (open !== undefined) {
        leaveMemory(pointer, open);
        openFiles.delete(pointer);
        if (open.isTemporary) open.disk.remove(open.path);
      }
      return 0;
    },
    xRead: (pointer: number, target: number, length: number, offset: bigint) => {
      const { file } = fileAt(pointer);
      const at = Number(offset);
      const content = file.current.view().subarray(at, at + length);
      const heap: Uint8Array = wasm.heap8u();
      heap.set(content, target);
      if (content.length === length) return 0;
      heap.fill(0, target + content.length, target + length);
      return capi.SQLITE_IOERR_SHORT_READ;
    },
    xWrite: (pointer: number, source: number, length: number, offset: bigint) => {
      const { file, disk, owner, isReadOnly } = fileAt(pointer);
      if (!owner.isAlive() || isReadOnly) return capi.SQLITE_IOERR_WRITE;
      try {
        const heap: Uint8Array = wasm.heap8u();
        disk.write(file, heap.subarray(source, source + length), Number(offset));
        return 0;
      } catch (error) {
        return errorOf(error, capi.SQLITE_IOERR_WRITE);
      }
    },
    xTruncate: (pointer: number, size: bigint) => {
      const { file, disk, owner, isReadOnly } = fileAt(pointer);
      if (!owner.isAlive() || isReadOnly) return capi.SQLITE_IOERR_TRUNCATE;
      try {
        disk.truncate(file, Number(size));
        return 0;
      } catch {
        return capi.SQLITE_IOERR_TRUNCATE;
      }
    },
    xSync: (pointer: number) => {
      const open = fileAt(pointer);
      if (!open.owner.isAlive()) return capi.SQLITE_IOERR_FSYNC;
      try {
        open.disk.sync(open.file);
        // As SQLite's VFS for Unix does for a journal or WAL that it has made.
        if (open.needsFolderSync) open.disk.syncFolder(dirname(open.path));
        open.needsFolderSync = false;
        return 0;
      } catch {
        return capi.SQLITE_IOERR_FSYNC;
      }
    },
    xFileSize: (pointer: number, target: number) => {
      wasm.poke64(target, BigInt(fileAt(pointer).file.current.size()));
      return 0;
    },
    xLock: (pointer: number, level: number) => {
      const open = fileAt(pointer);
      const held = others(pointer, open).map(({ lock }) => lock);
      if (level === shared && held.some((lock) => lock >= 3)) return capi.SQLITE_BUSY;
      if (level === reserved && held.some((lock) => lock >= reserved)) return capi.SQLITE_BUSY;
      if (level === exclusive && held.some((lock) => lock > unlocked)) return capi.SQLITE_BUSY;
      open.lock = Math.max(open.lock, level);
      return 0;
    },
    xUnlock: (pointer: number, level: number) => {
      fileAt(pointer).lock = level;
      return 0;
    },
    xCheckReservedLock: (pointer: number, target: number) => {
      wasm.poke32(target, others(pointer, fileAt(pointer)).some(({ lock }) => lock >= reserved) ? 1 : 0);
      return 0;
    },
    xFileControl: () => capi.SQLITE_NOTFOUND,
    xSectorSize: () => 4096,
    xDeviceCharacteristics: () => 0,
    xShmMap: (pointer: number, region: number, size: number, extend: number, target: number) => {
      const open = fileAt(pointer);
      const memory = memoryOf(open);
      if (!open.hasShared) {
        open.hasShared = true;
        memory.users += 1;
      }
      while (memory.regions.length <= region) {
        if (extend === 0) {
          wasm.pokePtr(target, 0);
          return 0;
        }
        const made: number = wasm.alloc(size);
        (wasm.heap8u() as Uint8Array).fill(0, made, made + size);
        memory.regions.push(made);
      }
      wasm.pokePtr(target, memory.regions[region]);
      return 0;
    },
    xShmLock: (pointer: number, offset: number, count: number, flags: number) => {
      const open = fileAt(pointer);
      const memory = memoryOf(open);
      const end = offset + count;
      const wantsExclusive = (flags & shmExclusive) !== 0;
      if ((flags & shmUnlock) !== 0) {
        for (let at = offset; at < end; at += 1) {
          memory.holders[at]?.delete(pointer);
          if (memory.holders[at]?.size === 0) memory.isExclusive[at] = false;
        }
        return 0;
      }
      // The write lock is the one that others can hold for long.
      if (wantsExclusive && offset === 0 && busyOf.get(open.owner)?.() === true) return SQLITE_BUSY;
      for (let at = offset; at < end; at += 1) {
        const holders = memory.holders[at];
        if (holders === undefined || (!wantsExclusive && memory.isExclusive[at] !== true)) continue;
        if (holders.size > (holders.has(pointer) ? 1 : 0)) return SQLITE_BUSY;
      }
      for (let at = offset; at < end; at += 1) {
        (memory.holders[at] ??= new Set()).add(pointer);
        memory.isExclusive[at] = wantsExclusive;
      }
      return 0;
    },
    xShmBarrier: () => undefined,
    xShmUnmap: (pointer: number) => {
      leaveMemory(pointer, fileAt(pointer));
      return 0;
    },
  };

  const vfs = {
    xOpen: (_: number, name: number, pointer: number, flags: number, target: number) => {
      if (opening === undefined) return capi.SQLITE_CANTOPEN;
      const { disk, owner } = opening;
      const isTemporary = name === 0;
      const path: string = isTemporary ? `/temporary-${pointer}` : wasm.cstrToJs(name);
      const creates = (flags & capi.SQLITE_OPEN_CREATE) !== 0;
      let file: SimulatedFile | undefined;
      try {
        file = disk.open(path, { create: creates });
      } catch {
        file = undefined;
      }
      if (file === undefined) return capi.SQLITE_CANTOPEN;
      const isLog = (flags & (capi.SQLITE_OPEN_WAL | capi.SQLITE_OPEN_MAIN_JOURNAL)) !== 0;
      openFiles.set(pointer, {
        ...{
          path,
          file,
          disk,
          owner,
          isTemporary,
          isReadOnly: (flags & capi.SQLITE_OPEN_READONLY) !== 0,
          lock: unlocked,
          hasShared: false,
        },
        // As the VFS of Unix does it: the file may have been removed and made anew by another program.
        needsFolderSync: creates && isLog,
      });
      const handle = new capi.sqlite3_file(pointer);
      handle.$pMethods = ioMethods.pointer;
      handle.dispose();
      if (target !== 0) wasm.poke32(target, flags);
      return 0;
    },
    xDelete: (_: number, name: number, syncsFolder: number) => {
      if (opening === undefined || !opening.owner.isAlive()) return capi.SQLITE_IOERR_DELETE;
      const path: string = wasm.cstrToJs(name);
      if (!opening.disk.exists(path)) return capi.SQLITE_IOERR_DELETE_NOENT;
      opening.disk.remove(path);
      if (syncsFolder !== 0) opening.disk.syncFolder(dirname(path));
      return 0;
    },
    xAccess: (_: number, name: number, __: number, target: number) => {
      wasm.poke32(target, opening?.disk.exists(wasm.cstrToJs(name)) === true ? 1 : 0);
      return 0;
    },
    xFullPathname: (_: number, name: number, length: number, target: number) => {
      const copied: number = wasm.cstrncpy(target, name, length);
      return copied < length ? 0 : capi.SQLITE_CANTOPEN;
    },
    xRandomness: (_: number, length: number, target: number) => {
      const heap: Uint8Array = wasm.heap8u();
      for (let at = 0; at < length; at += 1) heap[target + at] = Math.floor(chance() * 256);
      return length;
    },
    // A statement that waits for a lock waits in no time: the other process cannot go on meanwhile.
    xSleep: (_: number, microseconds: number) => microseconds,
    xCurrentTime: (_: number, target: number) => {
      wasm.poke(target, 2_461_000.5, 'double');
      return 0;
    },
    xGetLastError: () => 0,
  };

  const ioMethods = new capi.sqlite3_io_methods();
  ioMethods.$iVersion = 2;
  const simulated = new capi.sqlite3_vfs();
  const usual = new capi.sqlite3_vfs(capi.sqlite3_vfs_find(null));
  simulated.$iVersion = 1;
  simulated.$szOsFile = capi.sqlite3_file.structInfo.sizeof;
  simulated.$mxPathname = 512;
  simulated.$xDlOpen = 0;
  simulated.$xDlError = 0;
  simulated.$xDlSym = 0;
  simulated.$xDlClose = 0;
  usual.dispose();
  api.vfs.installVfs({
    io: { struct: ioMethods, methods: io },
    vfs: { struct: simulated, methods: vfs, name: vfsName, asDefault: false },
  });

  function within<Result>(surroundings: NonNullable<typeof opening>, run: () => Result): Result {
    const before = opening;
    opening = surroundings;
    try {
      return run();
    } finally {
      opening = before;
    }
  }

  return {
    seed: (given) => {
      chance = given;
      // SQLite keeps a generator of its own; without this call it would go on where the world before has ended.
      capi.sqlite3_randomness(0, 0);
    },
    forgetAll: () => {
      for (const close of connections.values()) close();
      openFiles.clear();
      memories.clear();
      busyOf.clear();
    },
    driverOn: (disk, owner, { isHeld, losesCommit }) => {
      busyOf.set(owner, isHeld);
      const surroundings = { disk, owner };
      return {
        open: (path, options) =>
          within(surroundings, () =>
            openConnection(api, path, {
              ...options,
              vfsName,
              run: (work) => within(surroundings, work),
              connections,
              losesCommit,
            }),
          ),
        backUp: () => Promise.reject(new Error('no backups here')),
      };
    },
  };
}
