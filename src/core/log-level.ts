import * as z from 'zod';

/** The most verbose one first. */
export const logLevels = ['debug', 'info', 'warn', 'error'] as const;

/** The least severe level that a program logs. */
export type LogLevel = (typeof logLevels)[number];

export const logLevelSchema = z.enum(logLevels, `expected one of ${logLevels.join(', ')}`);

/** Body of `PUT /internal/log-level`, and of its answers. */
export const logLevelBodySchema = z.object(
  { level: logLevelSchema },
  `expected an object such as {"level": "${logLevels[0]}"}`,
);

/** The log level of a running program. It applies to all its threads. */
export interface LogLevelControl {
  readonly current: () => LogLevel;
  /** Sets the level for the next records, until the program ends. */
  readonly set: (level: LogLevel) => void;
}
