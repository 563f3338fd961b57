import { startMockEngine } from './mock-engine.ts';

/** Entry of a mock engine's process: listens on the port given as the argument and tells its parent which one it got. */
const engine = await startMockEngine(Number(process.argv[2] ?? 0));
process.send?.({ port: engine.port });
// The parent's end, however it ends, is ours too.
process.on('disconnect', () => process.exit(0));
