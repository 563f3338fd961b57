import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { costs, sizeFor } from '../../tools/sizing/size.ts';
import { planText } from './plan.ts';

const page = readFileSync(join(import.meta.dirname, '../../../docs/operate/sizing.md'), 'utf8');

it('prints what its page shows', () => {
  const size = sizeFor({ rps: 50, streams: 500, chunksPerSecond: 30, retentionDays: 90, meanShare: 0.3 });
  expect(page).toContain(`\`\`\`text\n${planText(size)}\n\`\`\``);
});

it('uses the costs that its page shows', () => {
  const { answer, chunk, idle, stream } = costs;
  const answerMs = Object.values(answer);
  const chunkMs = Object.values(chunk);
  for (const row of [
    `| an answer | ${answerMs.map((ms) => `${ms} ms`).join(' | ')} |`,
    `| a chunk of a stream | ${chunkMs.map((ms) => `${ms} ms`).join(' | ')} | | |`,
    `| memory when idle | ${idle.serviceMib} MiB | | ${idle.envoyMib} MiB | | |`,
    `| memory of an open stream | ${stream.serviceKib} KiB | | ${stream.envoyKib} KiB | | |`,
  ])
    expect(page).toContain(`${row}\n`);
});
