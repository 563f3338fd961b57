import type { AnswerIdentity, JsonWriter, StreamWriter } from '../../../core/dialect.ts';
import { Failure } from '../../../core/failure.ts';
import { type Bill, formatUsd } from '../../../core/money.ts';

/** Requests of this surface cannot ask for a stream. */
export function createStreamWriter(): StreamWriter {
  throw new Failure('internal', 'Embeddings are not streamed.');
}

/** Assembles vectors into one list of embeddings, in the order of the inputs, whatever the order in which they come. */
export function createJsonWriter({ id, model }: AnswerIdentity): JsonWriter {
  const vectors: string[] = [];
  return {
    push: (events) => {
      for (const event of events) {
        if (event.type !== 'vectors') continue;
        for (const [at, vector] of event.vectors.entries()) vectors[event.first + at] = vector;
      }
    },
    finish: (bill) => {
      const data = vectors.map((vector, index) => `{"object":"embedding","index":${index},"embedding":${vector}}`);
      const head = `{"object":"list","id":${JSON.stringify(id)},"data":[`;
      return `${head}${data.join(',')}],"model":${JSON.stringify(model)},"usage":${writeUsage(bill)}}`;
    },
  };
}

/** The cost is the exact decimal, as on the chat surface. */
function writeUsage({ usage, cost }: Bill): string {
  const { promptTokens, completionTokens } = usage;
  const total = promptTokens + completionTokens;
  return `{"prompt_tokens":${promptTokens},"total_tokens":${total},"cost":${formatUsd(cost)}}`;
}
