import { spawn } from 'node:child_process';

/** How a short command ended. `code` is undefined when it could not be started or a signal ended it. */
export interface CommandResult {
  readonly code: number | undefined;
  /** Standard output and standard error, in the order they came; the last 64 KiB. */
  readonly output: string;
}

const outputLimit = 65_536;

/** Runs a short command to its end. Never rejects: a command that cannot be started is a result, too. */
export function runCommand(
  command: string,
  args: readonly string[],
  options: {
    /** The whole environment, PATH for finding the command included. Default: our own. */
    readonly env?: Readonly<Record<string, string | undefined>>;
    readonly timeoutMs?: number;
    readonly signal?: AbortSignal;
  } = {},
): Promise<CommandResult> {
  return new Promise((resolve) => {
    let output = '';
    const collect = (chunk: string): void => {
      output = (output + chunk).slice(-outputLimit);
    };
    const child = spawn(command, [...args], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: options.env ?? process.env,
      ...(options.timeoutMs === undefined ? {} : { timeout: options.timeoutMs }),
      ...(options.signal === undefined ? {} : { signal: options.signal }),
    });
    child.stdout.setEncoding('utf8').on('data', collect);
    child.stderr.setEncoding('utf8').on('data', collect);
    child.once('error', (error) => {
      const isMissing = 'code' in error && error.code === 'ENOENT';
      resolve({
        code: undefined,
        output: isMissing ? `there is no ${command} on this machine` : output || error.message,
      });
    });
    child.once('close', (code) => resolve({ code: code ?? undefined, output }));
  });
}
