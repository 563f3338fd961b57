import { expect, it } from 'vitest';
import { expectQuiet, runDispatch as begin } from '../../../test/support/run-dispatch.ts';
import { steadyHealth } from '../../../test/support/steady-health.ts';

// The bill is that of the attempt whose output was delivered, whatever other attempts report, and when.

const huge = '=900000/900000';

it.each([
  ['its own', '0:x =5/1 0!', { promptTokens: 5, completionTokens: 1 }],
  ['none', '0:x 0!', undefined],
])(
  'counts of the loser of a hedge, and those after the end, are not billed when the winner reports %s',
  async (_, answer, usage) => {
    const run = begin({ health: steadyHealth({ hedge: () => ({ afterMs: 200, insured: false }) }), idleMs: 100_000 });
    const loser = run.says(0, huge);
    loser.data(huge);
    run.clock.advance(200);
    run.says(1, answer).data(huge);
    loser.data(`0:late ${huge} 0!`);
    run.engine(1).end();
    expect(await run.ended).toMatchObject({ kind: 'completed', attempts: 2, isContinued: false });
    expect([run.text(), run.usage()?.usage]).toEqual(['x', usage]);
    expectQuiet(run);
  },
);

it('counts reported by an attempt that fails before output are not those of the next one', async () => {
  const run = begin();
  run.says(0, huge).fail('ECONNRESET');
  run.says(1, '0:x 0!').end();
  await run.ended;
  expect([run.text(), run.usage()]).toEqual(['x', undefined]);
  expectQuiet(run);
});

it('counts of an attempt that loses a race to continue an answer are not added to it', async () => {
  const run = begin({ health: steadyHealth({ hedge: () => ({ afterMs: 200, insured: false }) }), idleMs: 100_000 });
  run.says(0, '0:a =7/1').fail('ECONNRESET');
  await run.upstream.called(1);
  run.says(1, huge);
  run.clock.advance(200);
  run.says(2, '0:b =8/1 0!').end();
  await run.ended;
  expect([run.text(), run.usage()?.usage]).toEqual(['ab', { promptTokens: 7, completionTokens: 2 }]);
  expectQuiet(run);
});
