import * as z from 'zod';

/** The most verbose one first. */
export const logLevels = ['debug', 'info', 'warn', 'error'] as const;

/** The least level that a program logs. */
export type LogLevel = (typeof logLevels)[number];

export const logLevelSchema = z.enum(logLevels, `expected one of ${logLevels.join(', ')}`);

/** `/internal/log-level`, as it is answered and as it is put. */
export const logLevelBodySchema = z.object(
  { level: logLevelSchema },
  `expected an object such as {"level": "${logLevels[0]}"}`,
);

/** What a running program logs. All its threads log through this one level. */
export interface LogLevelControl {
  readonly current: () => LogLevel;
  /** Takes effect with the next record, until the program ends. */
  readonly set: (level: LogLevel) => void;
}
