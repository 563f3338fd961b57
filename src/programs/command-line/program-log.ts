import { type Logger, pino } from 'pino';
import type { LogLevel, LogLevelControl } from '../../core/log-level.ts';
import { openLogFormat } from '../../process/log-format.ts';
import { type LogStream, logToStandardOutput } from '../../process/log-stream.ts';
import type { LogSettings } from '../../process/settings/settings.ts';

/** The log of a program that keeps running. */
export interface ProgramLog {
  readonly log: Logger;
  readonly level: LogLevelControl;
  /** Where the records go. */
  readonly output: LogStream;
}

/** Opens the log of this process on standard output. `onLevel` is called with every level that is set later. */
export async function openProgramLog(
  settings: LogSettings,
  { onLevel }: { readonly onLevel: (level: LogLevel) => void },
): Promise<ProgramLog> {
  const output = logToStandardOutput(await openLogFormat(settings.WEIR_LOG_FORMAT, process.stdout));
  return { ...createLog(settings.WEIR_LOG_LEVEL, { output, onLevel }), output };
}

/** A log whose level can be changed while the program runs. */
export function createLog(
  first: LogLevel,
  { output, onLevel }: { readonly output: Pick<LogStream, 'write'>; readonly onLevel: (level: LogLevel) => void },
): Omit<ProgramLog, 'output'> {
  const log = pino({ level: first, base: {} }, output);
  let current = first;
  return {
    log,
    level: {
      current: () => current,
      set: (level) => {
        if (level === current) return;
        const before = current;
        current = level;
        log.level = level;
        // Logged at the new level, because only that level is certain to be logged.
        log[level]({ before, now: level }, 'the least level that is logged was changed');
        onLevel(level);
      },
    },
  };
}
