import { parseArgs } from 'node:util';
import { startDemoEngine } from './engine.ts';

const usage = `node examples/demo-engine/main.ts [--port N] [--host ADDRESS] [--models a,b]

Serves chat completions that it makes up, on loopback, until SIGTERM, SIGINT, or the end of the process that forked it.`;

/** About as fast as a model on one machine. */
const tokenMs = 15;

/** Runs an engine as a process of its own. Exits with 2 and a sentence when it cannot. */
async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      port: { type: 'string', default: '0' },
      host: { type: 'string', default: '127.0.0.1' },
      models: { type: 'string', default: 'demo-chat' },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) return void process.stdout.write(`${usage}\n`);
  const port = Number(values.port);
  if (!Number.isInteger(port) || port < 0 || port > 65_535) {
    throw new RangeError(`--port must be a number from 0 to 65535, not ${values.port}`);
  }
  const models = values.models.split(',').filter(Boolean);
  const engine = await startDemoEngine({ port, host: values.host, models, tokenMs });
  const stop = (): void => {
    process.off('disconnect', stop);
    void engine.close().then(() => process.exit(0));
  };
  process.once('SIGTERM', stop).once('SIGINT', stop).once('disconnect', stop);
  process.stdout.write(`demo engine ready ${engine.url}\n`);
  process.send?.({ kind: 'ready', url: engine.url });
}

try {
  await main();
} catch (error) {
  process.stderr.write(`demo engine: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exit(2);
}
