/** Parses manifests in a thread of its own, a few documents at a time: the main thread asks for the next ones. */
import { parentPort } from 'node:worker_threads';
import type { ThreadMessage } from '../../core/worker-thread.ts';
import type { ParseAsk, ParseReply } from './parse-in-worker.ts';
import { type ParsedDocument, parseDocuments } from './parse.ts';
import { lowerPriority } from '../../process/machine.ts';

/** Fields in one reply: copying them takes the main thread a few milliseconds. */
const fieldsAtATime = 2_000;

let documents: Iterator<ParsedDocument> = [].values();

function next(): ParseReply {
  const batch: ParsedDocument[] = [];
  for (let fields = 0; fields < fieldsAtATime;) {
    const { done, value } = documents.next();
    if (done === true) return { documents: batch, isLast: true };
    batch.push(value);
    // A problem is small, but copying it takes some time, too.
    fields += value.kind === 'broken' ? 10 : value.lines.size;
  }
  return { documents: batch, isLast: false };
}

lowerPriority();
parentPort?.on('message', ({ id, ask }: ThreadMessage<ParseAsk>) => {
  if (ask.kind === 'begin') documents = parseDocuments(ask.file, ask.text);
  parentPort?.postMessage({ id, reply: next() });
});
