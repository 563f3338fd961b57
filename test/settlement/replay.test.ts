import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, it, vi } from 'vitest';
import { anyAction, rareTraces } from './actions.ts';
import { type Action, isEnabled, type MoneyState } from './model.ts';
import { type Replay, startReplay } from './replay.ts';

vi.setConfig({ testTimeout: 120_000 });

interface Holder {
  readonly replay: Replay;
}

/** An action as fast-check's model runner takes it. The replay has the state of the model, because it compares after each action. */
class Command implements fc.AsyncCommand<Holder, undefined> {
  readonly action: Action;
  constructor(action: Action) {
    this.action = action;
  }
  check({ replay }: Holder): boolean {
    return isEnabled(replay.state(), this.action);
  }
  async run({ replay }: Holder): Promise<void> {
    await replay.take(this.action);
  }
  toString(): string {
    return JSON.stringify(this.action);
  }
}

/** Runs a trace on a service of its own. Returns the state at its end. */
async function onService(run: (replay: Replay) => Promise<void>): Promise<MoneyState> {
  const folder = mkdtempSync(join(tmpdir(), 'weir-settlement-'));
  const replay = await startReplay(folder);
  try {
    await run(replay);
    return replay.state();
  } finally {
    await replay.close();
    rmSync(folder, { recursive: true });
  }
}

it.each(Object.entries(rareTraces))('the store and the model agree: %s', async (_, trace) => {
  await onService(async (replay) => {
    for (const action of trace) {
      expect(isEnabled(replay.state(), action), JSON.stringify(action)).toBe(true);
      await replay.take(action);
    }
  });
});

it('the store and the model agree after every action of any trace', async () => {
  let charged = 0;
  const commands = fc.commands([anyAction.map((action) => new Command(action))], { maxCommands: 40, size: 'max' });
  await fc.assert(
    fc.asyncProperty(commands, async (trace) => {
      const end = await onService((replay) => fc.asyncModelRun(() => ({ model: { replay }, real: undefined }), trace));
      charged += end.charged.length;
    }),
    { numRuns: 20 },
  );
  expect(charged).toBeGreaterThan(0);
});
