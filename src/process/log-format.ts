import type { WriteStream } from 'node:tty';

/** Makes what is written of one record, which is JSON and ends with a newline. */
export type LogFormat = (record: string) => string;

/** Local time, level, message, and the fields as JSON, on one line; the stack of an error stands below. */
const readable = { translateTime: 'SYS:HH:MM:ss.l', singleLine: true, errorLikeObjectKeys: ['err'] };

/**
 * How records are written: as lines for a reader on a terminal, as JSON elsewhere, unless the setting says which. Colours are used
 * where the terminal has them, and NO_COLOR is honoured (https://no-color.org). What lines need is loaded only for them.
 */
export async function openLogFormat(
  setting: 'json' | 'text' | undefined,
  output: Pick<WriteStream, 'isTTY'> & Partial<Pick<WriteStream, 'hasColors'>>,
): Promise<LogFormat> {
  // `isTTY` is missing, and not false, on other streams.
  const isText = setting === undefined ? Boolean(output.isTTY) : setting === 'text';
  if (!isText) return (record) => record;
  const { prettyFactory } = await import('pino-pretty');
  return prettyFactory({ ...readable, colorize: output.hasColors?.() ?? false });
}
