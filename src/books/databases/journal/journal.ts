import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { messageOf } from '../../../core/failure.ts';
import { type Machine, thisMachine } from '../machine.ts';
import { rowFilesIn, trialName } from './folder.ts';
import {
  type FieldValue,
  type SettledField,
  settledFields,
  type SettledRequest,
  settledRequestOf,
} from '../../../core/settled-request.ts';
import { crc32 } from 'node:zlib';
import { z } from 'zod';

/** The rows of one file, to be settled and then removed. */
export interface JournalSegment {
  readonly name: string;
  readonly rows: readonly SettledRequest[];
  /** Whether the file holds more than could be read: a record that was cut off, or a damaged one. */
  readonly torn: boolean;
}

/**
 * Rows that are settled but not in the database yet, in files of one folder that this process alone uses. Rows are on
 * the disk when `append` returns. The files are replayed oldest first, each from its beginning. Settling is idempotent,
 * so it does no harm if the process dies between settling a file and removing it.
 */
export interface Journal {
  /**
   * Writes rows and syncs them, all or none. Throws when the journal has no room for them or the disk refuses them:
   * `AppendInDoubt` if the disk may keep them nevertheless.
   */
  readonly append: (rows: readonly SettledRequest[]) => void;
  /** Why the disk refused the last rows. Undefined: it accepted them, or has accepted a trial since. */
  readonly fault: () => string | undefined;
  /** After a fault: removes refused rows that could not be removed before, and tries to write to the folder. Leaves nothing there. */
  readonly tryAgain: () => void;
  /**
   * The oldest file; undefined when nothing is left to settle. Rows that are appended later go to another file. Throws
   * when the disk fails.
   */
  readonly oldest: () => JournalSegment | undefined;
  /**
   * Removes a segment whose rows are in the database. With `keep`, the file stays, under a name that is never replayed.
   * Throws when the disk fails.
   */
  readonly remove: (segment: JournalSegment, keep?: 'damaged' | 'refused') => void;
  readonly bytes: () => number;
  /** Whether there is no file of rows. */
  readonly isEmpty: () => boolean;
  readonly close: () => void;
}

/** The journal refused rows and could not remove them from their file, so a process that opens it later may settle them. */
export class AppendInDoubt extends Error {
  constructor(cause: unknown) {
    super(messageOf(cause), { cause });
    this.name = 'AppendInDoubt';
  }
}

export interface JournalOptions {
  readonly folder: string;
  /** Largest total size of the files. */
  readonly maxBytes: number;
  /** A file is closed at this size. It is read in one piece, and settled again after a crash. */
  readonly segmentBytes: number;
  /** Absent: this one. */
  readonly machine?: Pick<Machine, 'files' | 'time'> | undefined;
}

const extension = '.journal';
/** Written to find out whether the disk accepts rows again. It is as large as a few rows. */
const trial = Buffer.alloc(16 * 1024);

/** Opens the journal of a folder, with the files that an earlier process has left in it. Throws when the folder cannot be read. */
export function openJournal({ folder, maxBytes, segmentBytes, machine = thisMachine }: JournalOptions): Journal {
  const { files, time: clock } = machine;
  /** Oldest first: the names begin with the time. */
  let closed: readonly string[] = rowFilesIn(folder, files).toSorted();
  let bytes = closed.reduce((sum, name) => sum + files.statSync(join(folder, name)).size, 0);
  let open: { readonly name: string; readonly file: number; size: number } | undefined;
  let made = 0;
  let fault: string | undefined;
  const refused = createRefusedEnds(folder, files);

  function begin(): NonNullable<typeof open> {
    made += 1;
    const name = segmentName(clock.now(), made);
    const file = files.openSync(join(folder, name), 'ax', 0o600);
    try {
      syncFolder(folder, files);
    } catch (error) {
      // Each attempt would take a file more, perhaps because there is none left.
      files.closeSync(file);
      throw error;
    }
    open = { name, file, size: 0 };
    return open;
  }

  function end(): void {
    if (open === undefined) return;
    files.closeSync(open.file);
    closed = [...closed, open.name];
    open = undefined;
  }

  function write(record: Buffer): void {
    const into = open ?? begin();
    try {
      for (let written = 0; written < record.length;) written += files.writeSync(into.file, record, written);
      files.fdatasyncSync(into.file);
    } catch (error) {
      // Records after a record that was cut off would never be read back.
      refused.add(into.name, into.size);
      end();
      try {
        refused.cut();
      } catch {
        throw new AppendInDoubt(error);
      }
      throw error;
    }
    into.size += record.length;
    bytes += record.length;
    if (into.size >= segmentBytes) end();
  }

  return {
    bytes: () => bytes,
    isEmpty: () => closed.length === 0 && open === undefined,
    append: (rows) => {
      const record = Buffer.concat(rows.map(journalRecord));
      if (bytes + record.length > maxBytes) throw new Error('the journal is full');
      try {
        write(record);
      } catch (error) {
        fault = messageOf(error);
        throw error;
      }
    },
    fault: () => fault,
    tryAgain: () => {
      try {
        refused.cut();
        files.writeFileSync(join(folder, trialName), trial, { flush: true, mode: 0o600 });
        files.unlinkSync(join(folder, trialName));
        fault = undefined;
      } catch (error) {
        fault = messageOf(error);
      }
    },
    oldest: () => {
      if (closed.length === 0) end();
      const [name] = closed;
      if (name === undefined) return undefined;
      const content = files.readFileSync(join(folder, name)).subarray(0, refused.sizeWithout(name));
      const { rows, endBytes } = readRecords(content);
      return { name, rows, torn: endBytes < content.length };
    },
    remove: ({ name }, keep) => {
      const path = join(folder, name);
      const { size } = files.statSync(path);
      if (keep === undefined) files.unlinkSync(path);
      else files.renameSync(path, `${path.slice(0, -extension.length)}.${keep}`);
      bytes = Math.max(0, bytes - (refused.sizeWithout(name) ?? size));
      refused.forget(name);
      closed = closed.filter((other) => other !== name);
    },
    close: end,
  };
}

function segmentName(now: number, number: number): string {
  // The random part makes the names of several processes differ, because their files may be moved into one folder.
  const random = randomBytes(4).toString('hex');
  return `${String(now).padStart(15, '0')}-${String(number).padStart(6, '0')}-${random}${extension}`;
}

/** A new file name is durable only when its folder has been synced. */
function syncFolder(folder: string, files: Machine['files']): void {
  const handle = files.openSync(folder, 'r');
  try {
    files.fsyncSync(handle);
  } finally {
    files.closeSync(handle);
  }
}

/** The files that end in refused rows. */
function createRefusedEnds(folder: string, files: Machine['files']) {
  /** The size of each file without the refused rows. */
  const sizes = new Map<string, number>();
  return {
    add: (name: string, size: number): void => void sizes.set(name, size),
    sizeWithout: (name: string): number | undefined => sizes.get(name),
    forget: (name: string): void => void sizes.delete(name),
    /** Removes refused rows from the ends of files. Throws when the disk fails. */
    cut: (): void => {
      for (const [name, size] of sizes) {
        const file = files.openSync(join(folder, name), 'r+');
        try {
          files.ftruncateSync(file, size);
          files.fdatasyncSync(file);
        } finally {
          files.closeSync(file);
        }
        sizes.delete(name);
      }
    },
  };
}

/** Before each record: the length of its text and the CRC-32 of it, 32 bits each, little-endian. */
const headBytes = 8;
/** A row takes less than a kilobyte; a larger length means damage. */
const maxRecordBytes = 64 * 1024;

const whole = z.string().regex(/^-?\d{1,19}$/);

/** How a field of a record is read back. An optional field may also be missing, in a record of an older version. */
function schemaOf(field: SettledField): z.ZodType<FieldValue> {
  switch (field.kind) {
    case 'text':
      return field.optional ? z.string().nullish().transform(orUndefined) : z.string();
    case 'name':
      return z.enum(field.names);
    case 'flag':
      return whole.transform((text) => text === '1');
    case 'count':
      return field.optional ? whole.transform(Number).nullish().transform(orUndefined) : whole.transform(Number);
    case 'moment':
      return whole.transform(Number);
    case 'money':
      return whole.transform(BigInt);
  }
}

function orUndefined<Value>(value: Value | null | undefined): Value | undefined {
  return value ?? undefined;
}

const recordSchema = z.object(Object.fromEntries(settledFields.map((field) => [field.name, schemaOf(field)])));
const fieldsInOrder = settledFields.toSorted(
  (one, other) => Number(one.isLastInJournal) - Number(other.isLastInJournal),
);

/** The record of a request: its head, then JSON, in which numbers are texts. */
export function journalRecord(request: SettledRequest): Buffer {
  const fields = Object.fromEntries(
    fieldsInOrder.map((field) => {
      const value = field.read(request);
      if (value === undefined || typeof value === 'string') return [field.name, value ?? null];
      return [field.name, String(typeof value === 'boolean' ? Number(value) : value)];
    }),
  );
  const text = Buffer.from(JSON.stringify(fields));
  const record = Buffer.allocUnsafe(headBytes + text.length);
  record.writeUInt32LE(text.length, 0);
  record.writeUInt32LE(crc32(text), 4);
  text.copy(record, headBytes);
  return record;
}

/** The rows of a file of records. */
export interface RecordedRows {
  readonly rows: readonly SettledRequest[];
  /** Where the readable records end. Anything after it was cut off while it was written, or is damaged. */
  readonly endBytes: number;
}

/** Reads records from the beginning of a file up to its end or to the first incomplete record. Never throws. */
export function readRecords(bytes: Buffer): RecordedRows {
  const rows: SettledRequest[] = [];
  let position = 0;
  while (position + headBytes <= bytes.length) {
    const length = bytes.readUInt32LE(position);
    const end = position + headBytes + length;
    if (length === 0 || length > maxRecordBytes || end > bytes.length) break;
    const text = bytes.subarray(position + headBytes, end);
    if (crc32(text) !== bytes.readUInt32LE(position + 4)) break;
    const row = parsed(text);
    if (row === undefined) break;
    rows.push(row);
    position = end;
  }
  return { rows, endBytes: position };
}

function parsed(text: Buffer): SettledRequest | undefined {
  try {
    const values = recordSchema.parse(JSON.parse(text.toString()));
    return settledRequestOf((field) => values[field.name]);
  } catch {
    return undefined;
  }
}
