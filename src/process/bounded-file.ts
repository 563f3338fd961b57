import { closeSync, constants, fstatSync, openSync, readSync, type Stats, statSync } from 'node:fs';
import { open, stat } from 'node:fs/promises';

/** Maximum size of a file with a key, a token or a password, bytes. */
export const maxSecretBytes = 64 * 1024;
/** Maximum size of a file with certificates, bytes: more than a Secret of Kubernetes can hold. */
export const maxCertificateBytes = 1024 * 1024;
/** Maximum size of a manifest or another file that people write, bytes. */
export const maxConfigurationBytes = 4 * 1024 * 1024;
/** Maximum size of a file that Weir writes and reads again, bytes. */
export const maxKeptBytes = 256 * 1024 * 1024;

/** A file that is not read: no regular file, or larger than its bound. */
export class RefusedFile extends Error {
  readonly reason: 'not-regular' | 'too-large';

  constructor(path: string, reason: RefusedFile['reason'], maxBytes: number) {
    const expected = reason === 'not-regular' ? 'a regular file' : `at most ${maxBytes} bytes`;
    super(`${path}: expected ${expected}`);
    this.name = 'RefusedFile';
    this.reason = reason;
  }
}

/**
 * Reads a regular file to its end, but never more than the bound and one byte: the size that the system reports is not
 * the size that is read, because a file can grow and files of the kernel report 0. Links are followed, as Kubernetes
 * mounts Secrets as links. Rejects with a `RefusedFile` that names the file and the bound, or with the system's error.
 */
export async function readBoundedFile(path: string, maxBytes: number): Promise<Buffer> {
  check(await stat(path), { path, maxBytes });
  await using file = await open(path, openFlags);
  const filled = createBuffer(check(await file.stat(), { path, maxBytes }), { path, maxBytes });
  for (;;) {
    const { buffer, offset, length } = filled.room();
    const { bytesRead } = await file.read(buffer, offset, length);
    if (!filled.add(bytesRead)) return filled.content();
  }
}

/** `readBoundedFile` for a start and for commands, which wait for nothing else. */
export function readBoundedFileSync(path: string, maxBytes: number): Buffer {
  check(statSync(path), { path, maxBytes });
  const file = openSync(path, openFlags);
  try {
    const filled = createBuffer(check(fstatSync(file), { path, maxBytes }), { path, maxBytes });
    for (;;) {
      const { buffer, offset, length } = filled.room();
      if (!filled.add(readSync(file, buffer, offset, length, null))) return filled.content();
    }
  } finally {
    closeSync(file);
  }
}

/** A pipe that takes the file's place between the check and the opening would block the thread that opens it. */
const openFlags = constants.O_RDONLY | constants.O_NONBLOCK;

interface Bounded {
  readonly path: string;
  readonly maxBytes: number;
}

/** Returns the size that the system reports. Opening a device can have effects, so the kind is checked before and after. */
function check(stats: Stats, { path, maxBytes }: Bounded): number {
  if (!stats.isFile()) throw new RefusedFile(path, 'not-regular', maxBytes);
  if (stats.size > maxBytes) throw new RefusedFile(path, 'too-large', maxBytes);
  return stats.size;
}

const minBufferBytes = 4096;

/** Collects what is read. The buffer grows up to one byte over the bound, which shows that there is more. */
function createBuffer(reported: number, { path, maxBytes }: Bounded) {
  let buffer = Buffer.allocUnsafe(Math.min(Math.max(reported + 1, minBufferBytes), maxBytes + 1));
  let used = 0;
  return {
    room: () => {
      if (used === buffer.length) {
        const larger = Buffer.allocUnsafe(Math.min(buffer.length * 2, maxBytes + 1));
        buffer.copy(larger);
        buffer = larger;
      }
      return { buffer, offset: used, length: buffer.length - used };
    },
    /** False at the end of the file. */
    add: (bytes: number): boolean => {
      used += bytes;
      if (used > maxBytes) throw new RefusedFile(path, 'too-large', maxBytes);
      return bytes > 0;
    },
    content: () => buffer.subarray(0, used),
  };
}
