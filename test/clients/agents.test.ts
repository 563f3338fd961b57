import { afterAll, expect, test } from 'vitest';
import { pinnedAgents } from './agents.ts';
import type { Agent, Folders } from './clients.ts';
import { installPinned } from './install.ts';
import { errandOf, makeFolders, modelNameOf, openStage, removeFolders, runErrand, seatAt } from './stage.ts';
import { forFile } from '../support/for-file.ts';

const places = new Map<Agent, Folders>(pinnedAgents.map((agent) => [agent, makeFolders()]));

afterAll(() => removeFolders());
const installed = await installPinned();
const stage = await forFile(
  openStage(Object.fromEntries([...places].map(([agent, place]) => [modelNameOf(agent), errandOf(agent, place)]))),
);

test.each([...places].map(([agent, place]): readonly [string, Agent, Folders] => [agent.name, agent, place]))(
  '%s writes the file that its model tells it to write',
  async (_, agent, place) => {
    const model = `test/${modelNameOf(agent)}`;
    const seat = seatAt(stage.weir, { place, model, installed: installed[agent.registry] });
    expect(await runErrand(stage.weir, agent, seat)).toBeUndefined();
    const rows = (await stage.weir.ledger()).filter((row) => row['model'] === model);
    expect(rows.map(({ outcome }) => outcome)).toEqual(['completed', 'completed']);
  },
);
