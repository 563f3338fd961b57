import type { ResponseReader } from '../../core/event.ts';
import { eventStreamType } from '../sse.ts';
import type { ReadOptions } from './read-choice.ts';
import { createJsonReader, createStreamReader } from './read-response.ts';

/** The reader for what an engine says it answers with; undefined when a chat completion cannot come that way. */
export function readResponseAs(contentType: string, options: ReadOptions): ResponseReader | undefined {
  const [type = ''] = contentType.toLowerCase().split(';');
  if (type.trim() === eventStreamType) return createStreamReader(options);
  return /^\s*application\/(?:[\w.+-]+\+)?json\s*$/.test(type) ? createJsonReader(options) : undefined;
}
