// A replica in a process of its own, to be killed: says `joined` when it serves, and `leading` when it writes.
import { startTestReplica } from './replica.ts';

const [kubeconfig = '', namespace = '', name = '', ledger] = process.argv.slice(2);
const replica = await startTestReplica({
  ...{ kubeconfig, namespace, name },
  // With the folder of a ledger, it brings accounts into that.
  ...(ledger !== undefined && { accounts: { data: ledger } }),
  onLog: (line) => {
    if (line.includes('this replica writes')) process.stdout.write('leading\n');
  },
});
process.stdout.write('joined\n');
process.once('SIGTERM', () => void replica.close());
