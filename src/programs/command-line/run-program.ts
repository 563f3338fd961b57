import { messageOf } from '../../core/failure.ts';
import { backgroundClock } from '../../process/clock.ts';
import { collectOnceStarted } from '../../process/collect-garbage.ts';
import { surviveShortages } from '../../process/shortages.ts';
import type { LogSettings } from '../../process/settings/settings.ts';
import { limitRepeats } from '../../telemetry/ops/repeat-limit.ts';
import { openProgramLog, type ProgramLog } from './program-log.ts';
import { printError } from './print.ts';

/** Longest wait for the last records of the log. */
const lastLogMs = 500;

/** The surroundings of a program that keeps running: its log, its supervisor, and the ways to stop it. */
export interface ProgramSurroundings {
  readonly programLog: ProgramLog;
  /** Notifies the supervisor, if there is one. */
  readonly announce: (message: Readonly<Record<string, unknown>>) => void;
  /** Resolves when the program is to stop. */
  readonly stopped: Promise<unknown>;
  /** Stops the program with exit code 1. */
  readonly fatal: (error: Error) => void;
}

export interface RunningProgram {
  /** Whether the program answers no request at this moment. Absent: it is always idle. */
  readonly isIdle?: () => boolean;
  /** Finishes what is open. */
  readonly close: () => Promise<void>;
  /** Whether something that cannot be ended would keep the process alive after `close`. */
  readonly lingers?: () => boolean;
}

/**
 * Runs a program that serves until it is asked to stop: by a signal, by the end of its supervisor, or by itself.
 * Resolves with the exit code. `name`: the command, for messages. `settings`: undefined if only the help was asked for.
 */
export async function runProgram<Settings extends LogSettings>(
  name: string,
  settings: () => Promise<Settings | undefined> | Settings | undefined,
  start: (settings: Settings, surroundings: ProgramSurroundings) => Promise<RunningProgram>,
): Promise<number> {
  const stop = Promise.withResolvers<number>();
  // Output without a reader is no error.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);
  let programLog: ProgramLog | undefined;
  let running: RunningProgram | undefined;
  let endSurvival = (): void => undefined;
  let code: number;
  /** Whether everything that was opened is closed again, so that the process ends by itself. */
  let isClosed = false;
  const fatal = (error: Error): void => {
    announce({ type: 'fatal', message: error.message });
    stop.resolve(1);
  };
  try {
    const given = await settings();
    if (given === undefined) return 0;
    // Set before anything else: the first process of a container ignores a signal without a handler.
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => stop.resolve(0));
    // Without its supervisor nothing would ever stop this process.
    process.once('disconnect', () => stop.resolve(0));
    // The supervisor asks whether the event loop of this process still runs.
    process.on('message', (message) => {
      if (message === 'ping') announce({ type: 'alive' });
    });
    programLog = await openProgramLog(given, { onLevel: (level) => announce({ type: 'log-level', level }) });
    const log = limitRepeats(programLog.log, backgroundClock);
    const shortages = (error: Error): void => log.error({ err: error }, 'out of system resources');
    endSurvival = surviveShortages(shortages);
    running = await start(given, { programLog, announce, stopped: stop.promise, fatal });
    const cancelCollection = collectOnceStarted(running.isIdle);
    code = await stop.promise;
    cancelCollection();
    await running.close();
    // An open channel would keep the process alive.
    if (process.connected) process.disconnect?.();
    isClosed = running.lingers?.() !== true;
  } catch (error) {
    const message = messageOf(error);
    // The message is awaited, because the exit below would lose it.
    await said({ type: 'fatal', message });
    printError(`weir ${name}: ${message}\n`);
    code = 1;
  }
  endSurvival();
  // Output without a reader would keep the process alive, and so would anything that a failed start has opened.
  if ((await programLog?.output.close(lastLogMs)) === false || !isClosed) process.exit(code);
  return code;
}

function announce(message: Readonly<Record<string, unknown>>): void {
  void said(message);
}

/** Resolves when the supervisor has the message. Also resolves when the supervisor is gone, which is no error. */
function said(message: Readonly<Record<string, unknown>>): Promise<void> {
  return new Promise((resolve) => {
    if (process.send === undefined) resolve();
    else process.send(message, undefined, undefined, () => resolve());
  });
}
