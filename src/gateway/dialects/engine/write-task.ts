import type { RequestTarget } from '../../../core/capability.ts';
import type { Message, Request, Task } from '../../../core/request.ts';
import { engines } from '../../engines/engines.ts';
import { writeRerank } from './write-rerank.ts';

type EmbeddingTask = Extract<Task, { readonly kind: 'embedding' }>;

/** Writes a request that asks for no answer in words as the body of an engine's call, or one piece of it. */
export function writeTask(request: Request, task: Task, target: RequestTarget): string {
  const { first, count } = target.piece ?? { first: 0, count: request.messages.length };
  switch (task.kind) {
    case 'embedding':
      return writeEmbeddings(request.messages.slice(first, first + count), task, target);
    case 'rerank':
      return writeRerank(request.messages.map(textOf), task, target);
  }
}

/**
 * Writes a call of the public wire format (https://platform.openai.com/docs/api-reference/embeddings/create). The end user's id is
 * never sent. Without `encoding_format`, all engines answer in numbers.
 */
function writeEmbeddings(inputs: readonly Message[], task: EmbeddingTask, target: RequestTarget): string {
  const { engine, upstreamModel, shortenTo } = target;
  const texts = inputs.map(textOf);
  const head = JSON.stringify({
    model: upstreamModel,
    encoding_format: task.encoding === 'base64' && engines[engine].embeddings?.base64 === true ? 'base64' : undefined,
    dimensions: shortenTo,
  });
  // Lists of token ids are JSON already.
  const list = task.tokenIds === undefined ? JSON.stringify(texts) : `[${texts.join(',')}]`;
  return `${head.slice(0, -1)},"input":${list}}`;
}

/** The text of an input, which has no other parts. Half of a character, such as a text that was cut in its middle has, is replaced: engines fail for it. */
export const textOf = ({ content }: Message): string => (typeof content === 'string' ? content.toWellFormed() : '');
