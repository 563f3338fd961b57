import { Buffer } from 'node:buffer';
import { z } from 'zod';
import { parseJson } from '../../core/json.ts';
import type { PoolPrompt } from '../../core/pool-prompt.ts';
import type { PoolReport } from '../core/pool-report.ts';

/** A digest has 48 bits, the tokens up to the end of its block 32. */
const digestBytes = 6;
const blockBytes = digestBytes + 4;

const count = z.number().int().nonnegative();
const name = z.string().max(256);

/** A report as JSON: arrays in place of objects, and the blocks of a prompt in base64. */
const textSchema = z.object({
  endpoints: z.array(z.tuple([name, name, count, count, z.number().int(), count])),
  sent: z.array(z.tuple([name, name, count, z.string()])),
});

export function writePoolReport({ endpoints, sent }: PoolReport): string {
  const text: z.infer<typeof textSchema> = {
    endpoints: endpoints.map(({ pool, endpoint, aheadTokens, underWay, steps, capacityTokens }) => [
      ...([pool, endpoint, Math.max(0, Math.round(aheadTokens)), underWay, steps] as const),
      Math.round(capacityTokens),
    ]),
    sent: sent.map(({ pool, endpoint, prompt }) => [pool, endpoint, Math.round(prompt.tokens), writeBlocks(prompt)]),
  };
  return JSON.stringify(text);
}

/** Undefined: the text is of another version. */
export function readPoolReport(text: string): PoolReport | undefined {
  const { data } = textSchema.safeParse(parseJson(text));
  return (
    data && {
      endpoints: data.endpoints.map(([pool, endpoint, aheadTokens, underWay, steps, capacityTokens]) => ({
        ...{ pool, endpoint, aheadTokens, underWay, steps, capacityTokens },
      })),
      sent: data.sent.map(([pool, endpoint, tokens, blocks]) => ({
        ...{ pool, endpoint, prompt: { ...readBlocks(blocks), tokens } },
      })),
    }
  );
}

function writeBlocks({ digests, ends }: PoolPrompt): string {
  const bytes = Buffer.alloc(digests.length * blockBytes);
  for (const [index, digest] of digests.entries()) {
    bytes.writeUIntBE(digest, index * blockBytes, digestBytes);
    bytes.writeUInt32BE(Math.round(ends[index] ?? 0), index * blockBytes + digestBytes);
  }
  return bytes.toString('base64');
}

function readBlocks(text: string): Pick<PoolPrompt, 'digests' | 'ends'> {
  const bytes = Buffer.from(text, 'base64');
  const digests: number[] = [];
  const ends: number[] = [];
  for (let at = 0; at + blockBytes <= bytes.length; at += blockBytes) {
    digests.push(bytes.readUIntBE(at, digestBytes));
    ends.push(bytes.readUInt32BE(at + digestBytes));
  }
  return { digests, ends };
}
