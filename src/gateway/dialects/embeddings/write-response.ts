import type { AnswerIdentity, AskedAnswer, JsonWriter } from '../../../core/dialect.ts';
import type { HeldVector } from '../../../core/event.ts';
import { type Bill, formatUsd } from '../../../core/money.ts';

/** An answer of so many characters is written in pieces of this size. */
export const pieceLength = 32 * 1024;

/** Assembles vectors into one list of embeddings, in the order of the inputs, whatever the order in which they come. */
export function createJsonWriter({ id, model }: AnswerIdentity, { task }: Pick<AskedAnswer, 'task'>): JsonWriter {
  const write32 = task?.kind === 'embedding' && task.encoding === 'base64' ? writeBase64 : writeNumbers;
  const vectors: HeldVector[] = [];
  let length = 0;

  function* write(bill: Bill): Generator<string> {
    let piece = `{"object":"list","id":${JSON.stringify(id)},"data":[`;
    for (const [index, { form, bytes }] of vectors.entries()) {
      const held = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
      const text = form === 'numbers' ? held.toString('latin1') : write32(held);
      piece += `${index === 0 ? '' : ','}{"object":"embedding","index":${index},"embedding":${text}}`;
      bytes.buffer.transfer(0);
      if (piece.length < pieceLength) continue;
      yield piece;
      piece = '';
    }
    yield `${piece}],"model":${JSON.stringify(model)},"usage":${writeUsage(bill)}}`;
  }

  return {
    push: (events) => {
      for (const event of events) {
        if (event.type !== 'vectors') continue;
        for (const [at, vector] of event.vectors.entries()) {
          vectors[event.first + at] = vector;
          length += vector.bytes.length;
        }
      }
    },
    finish: (bill) => [...write(bill)].join(''),
    pieces: (bill) => (length > pieceLength ? write(bill) : undefined),
  };
}

const writeBase64 = (bytes: Buffer): string => `"${bytes.toString('base64')}"`;

/** The numbers that are exactly these float32. */
const writeNumbers = ({ buffer, byteOffset, length }: Buffer): string =>
  `[${new Float32Array(buffer, byteOffset, length / 4).join(',')}]`;

/** The cost is the exact decimal, as on the chat surface. */
function writeUsage({ usage, cost }: Bill): string {
  const { promptTokens, completionTokens } = usage;
  const total = promptTokens + completionTokens;
  return `{"prompt_tokens":${promptTokens},"total_tokens":${total},"cost":${formatUsd(cost)}}`;
}
