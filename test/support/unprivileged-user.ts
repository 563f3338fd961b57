import { chownSync, readFileSync } from 'node:fs';

/** What `spawn` takes to run a program as another user; empty unless this process is root. */
export interface SpawnedAs {
  readonly uid?: number;
  readonly gid?: number;
}

/** Servers refuse to run as root. As root this is a user without rights that every Debian has; else it is ourselves. */
export function unprivilegedUser(names: readonly string[]): SpawnedAs {
  if (process.getuid?.() !== 0) return {};
  const users = new Map(
    readFileSync('/etc/passwd', 'utf8')
      .split('\n')
      .map((line) => line.split(':'))
      .map(([name = '', , uid, gid]) => [name, { uid: Number(uid), gid: Number(gid) }]),
  );
  const name = names.find((candidate) => users.has(candidate));
  if (name === undefined) throw new Error(`there is none of the users ${names.join(', ')} to run a server as`);
  return users.get(name) ?? {};
}

/** Gives a file or folder to that user. */
export function giveTo({ uid, gid }: SpawnedAs, path: string): void {
  if (uid !== undefined && gid !== undefined) chownSync(path, uid, gid);
}
