// `weir start` that looks for engines at other ports than the usual ones: `start-with-engines.ts '{"vLLM": 1234}' …`.
import * as z from 'zod';
import { run } from '../../../src/programs/start/start.ts';
import { usualEngines } from '../../../src/programs/local/found-engines.ts';

const [ports = '', ...argv] = process.argv.slice(2);
const portOf = z.record(z.string(), z.int()).parse(JSON.parse(ports));
const engines = usualEngines.flatMap((engine) => {
  const port = portOf[engine.name];
  return port === undefined ? [] : [{ ...engine, port }];
});
process.exitCode = await run(argv, engines);
