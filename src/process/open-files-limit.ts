import { readFileSync } from 'node:fs';

/**
 * Files that this process, or a child of it, may have open at most: the hard limit, to which Envoy and Node raise their own.
 * Undefined where the system does not tell, or sets none.
 */
export function openFilesLimit(): number | undefined {
  try {
    const [, hard = ''] = /^Max open files +\S+ +(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? [];
    return hard === '' ? undefined : Number(hard);
  } catch {
    // Only Linux has it.
    return undefined;
  }
}
