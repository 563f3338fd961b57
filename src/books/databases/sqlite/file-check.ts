import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';

export interface FileCheck {
  /** Whether damage has been found. */
  readonly isDamaged: () => boolean;
  /** Resolves when the check is over, whatever it found; never rejects. */
  readonly ended: Promise<void>;
  /** Ends a check that is still running. */
  readonly close: () => Promise<void>;
}

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
export function startFileCheck(file: string, { onDamage, onUnchecked }: FileCheckOptions): FileCheck {
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
    isDamaged: () => isDamaged,
    ended,
    close: async () => {
      closed = true;
      child.kill('SIGKILL');
      await ended;
    },
  };
}
