import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';

export type FileCheck = ReturnType<typeof startFileCheck>;

export interface FileCheckOptions {
  /** Called once, with what is wrong with the file. */
  readonly onDamage: (findings: readonly string[]) => void;
  /** Called with the reason if the file could not be checked. The file may then be damaged or not. */
  readonly onUnchecked: (reason: string) => void;
}

const script = fileURLToPath(new URL('./file-check-process.ts', import.meta.url));
const findings = z.array(z.string());

/**
 * Checks an SQLite file once, in the background: 3–4 s for each GB. The check runs beside writers, in a process of the
 * lowest priority. A thread would not do: Node cannot interrupt SQLite, so the service could not end before the check.
 */
export function startFileCheck(file: string, { onDamage, onUnchecked }: FileCheckOptions) {
  let isDamaged = false;
  let closed = false;
  const child = spawn(process.execPath, [script, file], { stdio: ['ignore', 'pipe', 'pipe'] });

  async function check(): Promise<void> {
    try {
      // Rejects if the system has no file or process left for it. It has no outputs then.
      await once(child, 'spawn');
      const [output, complaint, [code, signal]] = await Promise.all([
        text(child.stdout),
        text(child.stderr),
        once(child, 'close'),
      ]);
      if (closed) return;
      if (code !== 0) throw new Error(`the check ended with ${String(signal ?? code)}: ${complaint.slice(-500)}`);
      const found = findings.parse(JSON.parse(output));
      if (found.length === 0) return;
      isDamaged = true;
      onDamage(found);
    } catch (error) {
      if (!closed) onUnchecked(error instanceof Error ? error.message : String(error));
    }
  }

  const ended = check();
  return {
    /** Whether damage has been found. */
    isDamaged: (): boolean => isDamaged,
    /** Resolves when the check is over, whatever it found; never rejects. */
    ended,
    /** Ends a check that is still running. */
    close: async (): Promise<void> => {
      closed = true;
      child.kill('SIGKILL');
      await ended;
    },
  };
}
