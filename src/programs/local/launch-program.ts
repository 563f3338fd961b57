import { fileURLToPath } from 'node:url';
import * as z from 'zod';
import { type LogLevel, logLevelSchema } from '../../core/log-level.ts';
import { type BeginMessage, heldVariable } from '../../process/held-start.ts';
import { type Child, startChild } from './child.ts';

/** Messages that each of our programs sends to the program that started it, over their channel (`src/programs/command-line/run-program.ts`). */
const programMessage = z.discriminatedUnion('type', [
  /** The program is about to end, for a reason that the operator must read. */
  z.object({ type: z.literal('fatal'), message: z.string() }),
  /** The log level of the program was changed. */
  z.object({ type: z.literal('log-level'), level: logLevelSchema }),
  /** The answer to `ping`. */
  z.object({ type: z.literal('alive') }),
]);

interface Program {
  readonly nodeFlags?: readonly string[];
  /** The command of `weir` to run. */
  readonly command: 'serve' | 'portal';
  readonly args: readonly string[];
  readonly logPath: string;
}

interface ProgramLaunch extends Program {
  /** The same program, held for its first run. */
  readonly held?: HeldProgram | undefined;
  /** Added to the environment; undefined removes a variable. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Receives every level that the program's log is set to while it runs, for the program's next run. */
  readonly onLogLevel: (level: LogLevel) => void;
  /** Receives the messages that not every program sends. */
  readonly onMessage: (message: unknown) => void;
}

/** A program that loads its modules, and waits to be launched. */
export type HeldProgram = ReturnType<typeof holdProgram>;

const main = fileURLToPath(new URL('../../main.ts', import.meta.url));
/** Settings that a program of `weir start` does not use. */
export const secretsOfStart = { WEIR_UPSTREAM_KEY: undefined } as const;

/** How long a program that gave up may take to close its resources. */
const lastWordsMs = 2_000;

/** Starts the process of one of our own programs. */
const startProgram = (
  { nodeFlags = [], command, args, logPath }: Program,
  { env, onMessage }: Pick<ProgramLaunch, 'env' | 'onMessage'>,
): Child =>
  startChild({ command: process.execPath, args: [...nodeFlags, main, command, ...args], env, logPath, onMessage });

/**
 * Starts one of our own programs as a child that waits for `begin`, which gives it all its arguments. The `args` are those that are known
 * before, so that a list of processes shows them. Its launch has the same flags, command and log.
 */
export function holdProgram(program: Program) {
  let state: 'held' | 'begun' | 'ended' = 'held';
  let take: ProgramLaunch['onMessage'] = () => undefined;
  const child = startProgram(program, {
    env: { ...secretsOfStart, [heldVariable]: '1' },
    onMessage: (message) => take(message),
  });
  void child.ended.then(() => {
    state = 'ended';
  });
  return {
    /** Lets the program begin. Undefined if it has begun before, or if it has ended. */
    begin: ({ args, env, onMessage }: Pick<ProgramLaunch, 'args' | 'env' | 'onMessage'>): Child | undefined => {
      if (state !== 'held') return undefined;
      state = 'begun';
      take = onMessage;
      const changes = Object.entries(env).map(([name, value]) => [name, value ?? null] as const);
      const begin: BeginMessage = { type: 'begin', args: [...args], env: Object.fromEntries(changes) };
      child.send(begin);
      return child;
    },
    /** Ends a program that has not begun. */
    stop: async (graceMs: number): Promise<void> => {
      if (state === 'held') await child.stop(graceMs);
    },
  };
}

/** Starts one of our own programs as a child, or lets it begin if it is held. */
export function launchProgram(launch: ProgramLaunch) {
  const { args, env, held, onLogLevel, onMessage } = launch;
  let asking: ((answer: true) => void)[] = [];
  let gaveUp: string | undefined;
  const take = (raw: unknown): void => {
    const message = programMessage.safeParse(raw).data;
    switch (message?.type) {
      case 'fatal':
        gaveUp = message.message;
        // An open resource may keep the program running, and a program that runs is not started again.
        void child.stop(lastWordsMs);
        return;
      case 'log-level':
        onLogLevel(message.level);
        return;
      case 'alive':
        for (const answer of asking) answer(true);
        asking = [];
        return;
      case undefined:
        onMessage(raw);
    }
  };
  const child = held?.begin({ args, env, onMessage: take }) ?? startProgram(launch, { env, onMessage: take });
  return {
    // The operator must read the reason that the program gave. Its exit code, and the same words from its log, add
    // nothing.
    child: {
      ...child,
      ended: child.ended.then((ending) => (gaveUp === undefined ? ending : `gave up: ${gaveUp.replace(/\.$/, '')}`)),
      lastLines: () => (gaveUp === undefined ? child.lastLines() : []),
    },
    /**
     * Asks the program whether it responds. Resolves when its event loop answers, and never if it does not. Over the
     * channel, which exists from the start: the answer comes from the event loop that serves.
     */
    isAnswering: (): Promise<true> => {
      const { promise, resolve } = Promise.withResolvers<true>();
      asking.push(resolve);
      child.send('ping');
      return promise;
    },
  };
}
