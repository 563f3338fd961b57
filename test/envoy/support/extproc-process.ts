// A service in a process of its own, so that a test can kill it: `node extproc-process.ts SOCKET hang|start`.
// It prints one line when it listens and one line for each request.
import { answerExtProc } from './extproc.ts';

const [socketPath = '', behaviour = ''] = process.argv.slice(2);

await answerExtProc(socketPath, (exchange) => {
  if (behaviour === 'start') {
    exchange.start(200, [['content-type', 'text/event-stream']]);
    exchange.write('data: hello\n\n');
  }
  process.stdout.write('request\n');
});
process.stdout.write('listening\n');
