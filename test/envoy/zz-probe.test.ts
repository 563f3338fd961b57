import { join } from 'node:path';
import { test } from 'vitest';
import { http1Caller } from '../support/caller.ts';
import { figuresOf } from '../support/process-figures.ts';
import { roomyKey } from '../support/roomy-key.ts';
import { spawnDemoEngine } from '../support/spawn-demo-engine.ts';
import { backendManifest, modelManifest, startWeir } from '../support/weir.ts';
test('probe', async () => {
  const engine = await spawnDemoEngine({ reasoning: 'never' });
  const weir = await startWeir({ env: { NODE_OPTIONS: `--import=${join(import.meta.dirname, '../support/collect-garbage.ts')}` }, manifests: { 'catalog.yaml': backendManifest('lone', engine) + modelManifest('test/model', ['lone']) } });
  const key = await roomyKey(weir);
  for (let round = 0; round < 5; round += 1) {
    const caller = http1Caller({ ...weir, key });
    const t0 = performance.now();
    const all = Array.from({ length: round === 0 ? 10 : 1500 }, () => caller.open({ model: 'test/model', stream: true, messages: [{ role: 'user', content: 'x [[demo {"words": 12, "tokenDelayMs": 100, "firstTokenDelayMs": 2000}]]' }] }).answer);
    for (const a of await Promise.all(all)) await a.ended;
    console.log('done after', Math.round(performance.now() - t0));
    await caller.close();
    for (const w of [10, 22000]) {
    await new Promise((r) => setTimeout(r, w));
    process.kill(weir.pid('service'), 'SIGUSR2');
    await new Promise((r) => setTimeout(r, 1000));
    console.log(round, figuresOf(weir.pid('service')).residentBytes / 1048576, await weir.metric('nodejs_external_memory_bytes') / 1048576,  await weir.metric('nodejs_heap_size_used_bytes') / 1048576);
    }
  }
  await weir.close(); await engine.close();
}, 300000);
