import type { WriteStream } from 'node:tty';
import { printable } from '../core/printable.ts';

/** Converts one record, which is JSON and ends with a newline, to the text for the log. */
export type LogFormat = (record: string) => string;

/** Local time, level, message, and the fields as JSON, on one line; the stack of an error stands below. */
const readable = { translateTime: 'SYS:HH:MM:ss.l', singleLine: true, errorLikeObjectKeys: ['err'] };

/**
 * Chooses the format of records: readable lines on a terminal, JSON elsewhere, or the format of the setting. Colours
 * are used if the terminal has them, and NO_COLOR is honoured (https://no-color.org). The package for readable lines is
 * loaded only if they are written.
 */
export async function openLogFormat(
  setting: 'json' | 'text' | undefined,
  output: Pick<WriteStream, 'isTTY'> & Partial<Pick<WriteStream, 'hasColors'>>,
): Promise<LogFormat> {
  // On streams that are no terminal, `isTTY` is missing and not false.
  const isText = setting === undefined ? Boolean(output.isTTY) : setting === 'text';
  if (!isText) return (record) => record;
  const { prettyFactory } = await import('pino-pretty');
  const pretty = prettyFactory({ ...readable, colorize: output.hasColors?.() ?? false });
  // The package adds colours itself, so the texts are escaped before.
  const escaped = (_name: string, value: unknown): unknown => (typeof value === 'string' ? printable(value) : value);
  return (record) => pretty(JSON.parse(record, escaped));
}
