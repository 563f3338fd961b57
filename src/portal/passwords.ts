import { argon2, randomBytes, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';
import { passwordLength } from '../books/core/local-user.ts';
import { refusal } from '../books/core/operator-refusals.ts';
import { createTaskLimit } from '../core/task-limit.ts';

/** Argon2id with 19 MiB, two passes and one lane: the first of OWASP's recommended settings. About 30 ms of a processor. */
const cost = { memory: 19_456, passes: 2, parallelism: 1 } as const;
const saltBytes = 16;
const tagBytes = 32;
const derive = promisify(argon2);

/** Hashes at a time, which bounds their memory to 40 MiB, and further ones that may wait. */
const maxRunning = 2;
const maxWaiting = 32;

export type Passwords = ReturnType<typeof createPasswords>;

/** Hashes and checks passwords, a few at a time. Throws a `Refusal` while too many wait. */
export function createPasswords() {
  const limit = createTaskLimit(maxRunning);

  async function inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
    if (limit.waiting() >= maxWaiting) throw refusal('passwords_busy', {}, { retryAfterSeconds: 1 });
    return limit.run(work);
  }

  return {
    /** A hash in the PHC string format. Throws a `Refusal` for a password that is too short or too long. */
    hash: async (password: string): Promise<string> => {
      const { min, max } = passwordLength;
      if (password.length < min || password.length > max) throw refusal('password_malformed', { min, max });
      const salt = randomBytes(saltBytes);
      return writeHash(salt, await inTurn(() => tagOf(password, salt, cost)));
    },
    /** Whether a password is the one of a hash. Without a hash it is none, and the answer takes as long. */
    isRight: async (password: string, hash: string | undefined): Promise<boolean> => {
      const { cost: own, salt, tag } = readHash(hash ?? ofNobody);
      const given = await inTurn(() => tagOf(password.slice(0, passwordLength.max + 1), salt, own));
      return timingSafeEqual(given, tag) && hash !== undefined;
    },
  };
}

interface Cost {
  readonly memory: number;
  readonly passes: number;
  readonly parallelism: number;
}

function tagOf(password: string, salt: Buffer, own: Cost): Promise<Buffer> {
  // A password may be typed in several ways that look the same.
  return derive('argon2id', { message: password.normalize('NFKC'), nonce: salt, tagLength: tagBytes, ...own });
}

/** Base64 without padding, as the format has it. */
const bare = (bytes: Buffer): string => bytes.toString('base64').replace(/=+$/, '');

function writeHash(salt: Buffer, tag: Buffer): string {
  const { memory, passes, parallelism } = cost;
  return `$argon2id$v=19$m=${memory},t=${passes},p=${parallelism}$${bare(salt)}$${bare(tag)}`;
}

/** A hash of no password: an unknown address takes as long as a known one. */
const ofNobody = writeHash(Buffer.alloc(saltBytes), Buffer.alloc(tagBytes));

const form = /^\$argon2id\$v=19\$m=(\d+),t=(\d+),p=(\d+)\$([A-Za-z0-9+/]{22})\$([A-Za-z0-9+/]{43})$/;

function readHash(hash: string): { readonly cost: Cost; readonly salt: Buffer; readonly tag: Buffer } {
  const [, memory, passes, parallelism, salt = '', tag = ''] = form.exec(hash) ?? [];
  if (memory === undefined) throw new Error('the hash of a password in the database has another form');
  return {
    cost: { memory: Number(memory), passes: Number(passes), parallelism: Number(parallelism) },
    ...{ salt: Buffer.from(salt, 'base64'), tag: Buffer.from(tag, 'base64') },
  };
}
