import { userInfo } from 'node:os';

/** The user that runs this process. In a container it may be a number without a name. */
export function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return `uid ${process.getuid?.() ?? 'unknown'}`;
  }
}
