import { parseArgs } from 'node:util';

import { messageOf } from '../../src/core/failure.ts';
import { directiveReference } from './directive-reference.ts';
import { DirectiveError } from './directive.ts';
import { startProgrammableEngine } from './engine.ts';
import { isJsonObject, parsedOr } from './json-value.ts';

const usage = `node test/programmable-engine/main.ts [--port N] [--host ADDRESS] [--unix PATH] [--models a,b] [--name NAME] [--api-key KEY] [--behaviour JSON]
node test/programmable-engine/main.ts --directives     prints the reference table of README.md

Serves chat completions on loopback until SIGTERM, SIGINT, or the end of the process that forked it.`;

/** Runs an engine as a process of its own. Exits with 2 and a sentence when it cannot. */
async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      port: { type: 'string', default: '0' },
      host: { type: 'string', default: '127.0.0.1' },
      unix: { type: 'string' },
      models: { type: 'string', default: 'demo-chat' },
      name: { type: 'string', default: 'demo' },
      'api-key': { type: 'string' },
      behaviour: { type: 'string', default: '{}' },
      directives: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help || values.directives) {
    process.stdout.write(`${values.help ? usage : directiveReference()}\n`);
    return;
  }
  const behaviour = parsedOr(values.behaviour);
  if (!isJsonObject(behaviour)) throw new DirectiveError('--behaviour must be a JSON object');
  const engine = await startProgrammableEngine({
    name: values.name,
    port: portOf(values.port),
    host: values.host,
    models: values.models.split(',').filter(Boolean),
    behaviour,
    ...(values.unix === undefined ? {} : { unix: values.unix }),
    ...(values['api-key'] === undefined ? {} : { apiKey: values['api-key'] }),
  });
  const stop = (): void => {
    process.off('disconnect', stop);
    void engine.close().then(() => process.exit(0));
  };
  process.once('SIGTERM', stop).once('SIGINT', stop).once('disconnect', stop);
  process.stdout.write(`programmable engine ready ${engine.url}\n`);
  process.send?.({ kind: 'ready', url: engine.url });
}

function portOf(given: string): number {
  const port = Number(given);
  if (Number.isInteger(port) && port >= 0 && port <= 65_535) return port;
  throw new RangeError(`--port must be a number from 0 to 65535, not ${given}`);
}

try {
  await main();
} catch (error) {
  process.stderr.write(`programmable engine: ${messageOf(error)}\n`);
  process.exit(2);
}
