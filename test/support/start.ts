import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inheritedEnvironment } from './program-environment.ts';
import { stuckAfterMs } from './stuck-after.ts';

const root = join(import.meta.dirname, '..', '..');

/** How `weir start` ended. */
export interface StartEnd {
  /** The exit code, or the signal that ended it. */
  readonly code: number | NodeJS.Signals;
  readonly stdout: string;
  readonly stderr: string;
}

export interface StartRun {
  readonly child: ChildProcess;
  readonly data: string;
  readonly ended: Promise<StartEnd>;
  /** Standard output so far. */
  readonly stdout: () => string;
  readonly stderr: () => string;
  /** Resolves when the output (both streams) matches; rejects with all of it when the process ends first. */
  readonly said: (pattern: RegExp) => Promise<RegExpExecArray>;
}

export interface Started extends StartRun {
  /** As the line `ready …` has it, with `/v1`. */
  readonly baseUrl: string;
  /** The demo key; empty with --no-demo. */
  readonly key: string;
  readonly opsUrl: string;
  /** The processes that run for this start now, by name: "weir start", "Envoy", "the service", "the demo engine". */
  readonly processes: () => Readonly<Record<string, number>>;
  /** Sends the signal and resolves to how it ended; its data folder stays. */
  readonly stop: (signal?: NodeJS.Signals) => Promise<StartEnd>;
}

export interface StartTestOptions {
  /** Default: a new folder under the system's temporary one, removed by `removeStarts`. */
  readonly data?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** `npm start -- …` instead of `node bin/weir.mjs start …`. */
  readonly throughNpm?: boolean;
  /** A program with its arguments before those of `weir start`, which it runs. Default: `bin/weir.mjs start`. */
  readonly program?: readonly string[];
  /** Whether the portal runs, too: most tests are about the gateway. Default: it does not. */
  readonly portal?: boolean;
}

const folders: string[] = [];
const running = new Set<ChildProcess>();

/** Runs `weir start` with a free port (unless the arguments have one) and does not wait for anything. */
export function runStart(args: readonly string[], options: StartTestOptions = {}): StartRun {
  const { data = newDataFolder(), program = [join('bin', 'weir.mjs'), 'start'] } = options;
  const port = args.some((argument) => argument.startsWith('--port')) ? [] : ['--port', '0'];
  const portal = options.portal === true ? [] : ['--no-portal'];
  const all = [...args, ...port, ...portal, '--data', data];
  const child = spawn(
    options.throughNpm === true ? 'npm' : process.execPath,
    options.throughNpm === true ? ['start', '--', ...all] : [...program, ...all],
    {
      cwd: root,
      env: { ...inheritedEnvironment(), ...options.env },
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    },
  );
  running.add(child);
  let stdout = '';
  let stderr = '';
  let listeners: (() => void)[] = [];
  const heard = (): void => listeners.forEach((listener) => listener());
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
    heard();
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
    heard();
  });
  const ended = new Promise<StartEnd>((resolve) => {
    child.once('exit', (code, signal) => {
      running.delete(child);
      resolve({ code: code ?? signal ?? 'SIGKILL', stdout, stderr });
    });
  });
  const said = (pattern: RegExp): Promise<RegExpExecArray> =>
    new Promise((resolve, reject) => {
      const done = (): void => {
        clearTimeout(timer);
        listeners = listeners.filter((listener) => listener !== look);
      };
      const fail = (why: string): void => {
        done();
        reject(new Error(`${why} before it said ${String(pattern)}:\n${stderr}${stdout}`));
      };
      const look = (): void => {
        const match = pattern.exec(stdout) ?? pattern.exec(stderr);
        if (match === null) return;
        done();
        resolve(match);
      };
      const timer = setTimeout(() => fail(`${stuckAfterMs / 1000} s passed`), stuckAfterMs);
      listeners.push(look);
      look();
      void ended.then(() => fail('it ended'));
    });
  return { child, data, ended, said, stdout: () => stdout, stderr: () => stderr };
}

/** Runs `weir start` and resolves when it says `ready`; rejects with what it said when it ends before that. */
export async function start(args: readonly string[], options: StartTestOptions = {}): Promise<Started> {
  const run = runStart(args, options);
  const [, baseUrl = ''] = await run.said(/^ready (\S+)$/m);
  return {
    ...run,
    baseUrl,
    key: /^key: +(\S+)$/m.exec(run.stdout())?.[1] ?? '',
    opsUrl: /^ops: +(\S+)$/m.exec(run.stdout())?.[1] ?? '',
    processes: () => processesOf(run.data),
    stop: (signal = 'SIGTERM') => {
      run.child.kill(signal);
      return run.ended;
    },
  };
}

/** Ends what tests left running and removes their data folders. For `afterEach` or `afterAll`. */
export async function removeStarts(): Promise<void> {
  for (const child of running) {
    const gone = new Promise((resolve) => child.once('exit', resolve));
    child.kill('SIGTERM');
    await gone;
  }
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
}

export function newDataFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'weir-start-'));
  folders.push(folder);
  return folder;
}

/** What the supervisor wrote down of its processes. */
export function processesOf(data: string): Readonly<Record<string, number>> {
  const file = join(data, 'run', 'processes.json');
  if (!existsSync(file)) return {};
  const noted = JSON.parse(readFileSync(file, 'utf8')) as Record<string, { readonly pid: number }>;
  return Object.fromEntries(Object.entries(noted).map(([name, { pid }]) => [name, pid]));
}

export function socketsIn(data: string): readonly string[] {
  return readdirSync(join(data, 'run')).filter((name) => name.endsWith('.sock'));
}

/** Resolves when none of the processes lives any more; rejects with those that do after the time, by default if the test is stuck. */
export async function allGone(pids: Readonly<Record<string, number>>, timeoutMs = stuckAfterMs): Promise<void> {
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    const alive = Object.entries(pids).filter(([, pid]) => isRunning(pid));
    if (alive.length === 0) return;
    if (performance.now() > deadline) throw new Error(`still running: ${alive.map(String).join('; ')}`);
    // Only children report their end to their parent.
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

function isRunning(pid: number): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return !stat.slice(stat.lastIndexOf(')')).startsWith(') Z');
  } catch {
    return false;
  }
}

/** Asks a chat question. */
export function chat(
  { baseUrl, key }: Pick<Started, 'baseUrl' | 'key'>,
  body: {
    readonly model?: string;
    readonly content?: string;
    readonly stream?: boolean;
    /** Of the request: `team=search`. */
    readonly tags?: string;
  },
): Promise<Response> {
  const { model = 'demo/chat', content = 'Hello!', stream = false, tags } = body;
  return fetch(`${baseUrl}/chat/completions`, {
    method: 'POST',
    headers: {
      ...{ authorization: `Bearer ${key}`, 'content-type': 'application/json', connection: 'close' },
      ...(tags === undefined ? {} : { 'x-weir-tags': tags }),
    },
    body: JSON.stringify({ model, stream, messages: [{ role: 'user', content }] }),
  });
}
