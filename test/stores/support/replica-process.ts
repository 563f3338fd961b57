// A replica in a process of its own, to be killed: takes places of the workspace `ws-1` and says so.
import { rateAsk } from '../../support/bucket-law.ts';
import { startReplica } from './replica.ts';

const [url = '', places = '0'] = process.argv.slice(2);
const replica = startReplica(url);
await replica.up();
for (let place = 0; place < Number(places); place += 1) {
  const slot = await replica.slot(rateAsk({ maxInFlight: Number(places) }));
  slot.adjust(10n);
}
process.stdout.write('taken\n');
