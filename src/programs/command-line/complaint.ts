import { refusalCodeOf } from '../../books/core/operator-refusals.ts';
import { messageOf } from '../../core/failure.ts';

/** What is printed of an error that ends a command or a start. `lines`: an error may have several. */
export function complaint(error: unknown, form: 'json' | 'text' | 'lines'): string {
  const message = messageOf(error).replace(/^error: /, '');
  if (form === 'lines') return `weir: ${message}\n`;
  const sentence = message.replaceAll('\n', ' ');
  if (form === 'text') return `weir: ${sentence}\n`;
  const code = isOfParser(error) ? 'command_malformed' : refusalCodeOf(error);
  return `${JSON.stringify({ error: sentence, code })}\n`;
}

/** Whether the parser of commands has thrown an error. Programs print complaints, too, and load no parser. */
const isOfParser = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && String(error.code).startsWith('commander.');
