// A replica in a process of its own, to be killed: says `joined` when it serves, and `leading` when it writes.
import { startTestReplica } from './replica.ts';

const [kubeconfig = '', namespace = '', name = ''] = process.argv.slice(2);
const replica = await startTestReplica({
  ...{ kubeconfig, namespace, name },
  onLog: (line) => {
    if (line.includes('this replica writes')) process.stdout.write('leading\n');
  },
});
process.stdout.write('joined\n');
process.once('SIGTERM', () => void replica.close());
