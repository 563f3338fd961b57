import { spawn } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import type { BehaviourInput } from '../programmable-engine/behaviour.ts';
import { type ProgrammableEngine, startProgrammableEngine } from '../programmable-engine/engine.ts';
import { backendManifest, modelManifest, startWeir, type Weir } from '../support/weir.ts';
import type { Agent, Client, Folders, Launch, Library, Seat } from './clients.ts';

/** What a program said until it ended. */
export interface Outcome {
  readonly code: number | NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A gateway in front of a programmable engine, with a model for each conversation. */
export interface Stage {
  readonly engine: ProgrammableEngine;
  readonly weir: Weir;
  readonly close: () => Promise<void>;
}

/** Starts both; each model, by the last part of its id, behaves as told. */
export async function openStage(behaviours: Readonly<Record<string, BehaviourInput>>): Promise<Stage> {
  const names = Object.keys(behaviours);
  const models = Object.entries(behaviours).map(([name, behaviour]) => ({ id: `demo-${name}`, behaviour }));
  const engine = await startProgrammableEngine({ name: 'alpha', models });
  // A busy machine would make for a second request now and then, and requests are counted.
  const manifests = names.map((name) =>
    modelManifest(`test/${name}`, ['backend-of-test-0'], '  hedging: {mode: Disabled}').replace(
      'upstreamModel: demo-chat',
      `upstreamModel: demo-${name}`,
    ),
  );
  const catalog = [backendManifest('backend-of-test-0', engine), ...manifests].join('');
  const weir = await startWeir({
    ...{ engines: [engine], unlimited: true, manifests: { 'catalog.yaml': catalog } },
    env: { WEIR_RESPONSES: 'stateless', WEIR_FURTHER_PATHS: 'on' },
    secrets: models.map(({ id }) => id),
  });
  return {
    ...{ engine, weir },
    close: async () => {
      await weir.close();
      await engine.close();
    },
  };
}

const folders: string[] = [];

/** A home for one run, with a folder to work in. */
export function makeFolders(): Folders {
  const home = mkdtempSync(join(tmpdir(), 'weir-client-'));
  folders.push(home);
  const work = join(home, 'work');
  mkdirSync(work);
  return { home, work };
}

export function removeFolders(): void {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
}

/** The name of a client's model: the catalog's ids have letters, digits and few signs. */
export const modelNameOf = ({ name, registry }: Client): string =>
  `${registry}-${name.replace('@', '').replaceAll('/', '-')}`;

const usualTimeoutMs = 100_000;

/** The seat of a run with a model of a gateway's catalog. */
export const seatAt = (
  { origin, key }: Weir,
  given: { readonly place: Folders; readonly model: string; readonly installed: string },
): Seat => ({ ...given.place, origin, key, model: given.model, installed: given.installed });

interface RunOptions {
  /** What a user does who presses Ctrl-C. */
  readonly interruption?: AbortSignal | undefined;
  readonly timeoutMs?: number | undefined;
}

/**
 * Runs a client to its end, which is to tell nothing of the engine. Of the environment it gets PATH and what is told, nothing
 * else: keys and settings of whoever runs this are none of its business. One that goes on for too long is ended with all
 * that it started.
 */
export async function runClient(
  weir: Weir,
  { command, env }: Launch,
  seat: Seat,
  { interruption, timeoutMs = usualTimeoutMs }: RunOptions = {},
): Promise<Outcome> {
  const [program = '', ...parameters] = command;
  const path = [dirname(process.execPath), process.env['PATH'] ?? ''].join(delimiter);
  const child = spawn(program, parameters, {
    cwd: seat.work,
    env: { PATH: path, HOME: seat.home, TMPDIR: seat.home, LANG: 'C.UTF-8', NO_COLOR: '1', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  const ended = new Promise<Outcome['code']>((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code, signal) => resolve(code ?? signal));
  });
  interruption?.addEventListener('abort', () => child.pid !== undefined && process.kill(-child.pid, 'SIGINT'));
  const limit = setTimeout(() => child.pid !== undefined && process.kill(-child.pid, 'SIGKILL'), timeoutMs);
  try {
    const [code, stdout, stderr] = await Promise.all([ended, text(child.stdout), text(child.stderr)]);
    weir.watch(() => stdout + stderr);
    return { code, stdout, stderr };
  } finally {
    clearTimeout(limit);
  }
}

/** Where the file of an agent's errand is to be, and what is to be in it. */
const errandFile = ({ work }: Folders): string => join(work, 'tides.txt');
const errandContent = 'The tide turns at 17:42.';
const errandEnd = 'The errand is done.';

/** What the model of an agent says and calls when the agent is sent on its errand. */
export function errandOf(agent: Agent, place: Folders): BehaviourInput {
  return { script: agent.script({ path: errandFile(place), content: errandContent, end: errandEnd }) };
}

/** Sends an agent to write a file. Resolves with what went wrong, undefined when nothing did. */
export async function runErrand(weir: Weir, agent: Agent, seat: Seat): Promise<string | undefined> {
  const outcome = await runClient(weir, agent.launch(seat, 'Write into tides.txt when the tide turns.'), seat);
  const said = `${outcome.stdout}\n${outcome.stderr}`;
  if (outcome.code !== 0) return `ended with ${outcome.code}: ${said}`;
  if (!outcome.stdout.includes(errandEnd)) return `did not say how it ended: ${said}`;
  const written = readFile(errandFile(seat));
  return written === errandContent ? undefined : `wrote ${JSON.stringify(written)}: ${said}`;
}

function readFile(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8').trim();
  } catch {
    return undefined;
  }
}

/** Has the conversation that one of programs/ knows for a library, and resolves with the JSON that it prints. */
export async function talkThrough(
  weir: Weir,
  library: Library,
  seat: Seat,
  program: 'libraries' | 'responses' | 'ai-sdk-turns' | 'unknown_tool' = 'libraries',
): Promise<unknown> {
  cpSync(join(import.meta.dirname, 'programs'), seat.work, { recursive: true });
  // Node looks for packages beside the program that imports them.
  if (library.registry === 'npm') symlinkSync(join(seat.installed, 'node_modules'), join(seat.work, 'node_modules'));
  const command =
    library.registry === 'npm'
      ? [process.execPath, `${program}.mjs`, library.name]
      : [join(seat.installed, 'bin', 'python'), `${program}.py`, library.name];
  const env = { WEIR_ORIGIN: seat.origin, WEIR_KEY: seat.key, WEIR_MODEL: seat.model };
  const { code, stdout, stderr } = await runClient(weir, { command, env }, seat);
  if (code !== 0) throw new Error(`${library.name} ended with ${code}: ${stderr}${stdout}`);
  // Some libraries print warnings behind it.
  return JSON.parse(stdout.split('\n').findLast((line) => line.startsWith('{')) ?? '');
}
