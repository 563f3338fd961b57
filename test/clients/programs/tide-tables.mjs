// An MCP server with 22 tools: more than an agent shows its model at once. It speaks one JSON-RPC message a line.
import { createInterface } from 'node:readline';

const harbours = ['aalborg', 'bergen', 'brest', 'bristol', 'cadiz', 'calais', 'cork', 'dover', 'dublin', 'emden'];
harbours.push('esbjerg', 'galway', 'goole', 'hull', 'husum', 'larne', 'leith', 'lisbon', 'ostend', 'porto');
harbours.push('vigo', 'wick');

const tools = harbours.map((harbour) => ({
  name: `tide_at_${harbour}`,
  description: `When the tide turns at ${harbour}.`,
  inputSchema: { type: 'object', properties: { day: { type: 'string' } }, required: ['day'] },
}));

const methods = {
  initialize: ({ protocolVersion }) => ({
    ...{ protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'tide-tables', version: '1.0.0' } },
  }),
  'tools/list': () => ({ tools }),
  'tools/call': ({ name, arguments: { day } }) => ({
    content: [{ type: 'text', text: `${name.replace('tide_at_', 'At ')} on ${day} the tide turns at 17:42.` }],
  }),
};

for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) continue; // A notification.
  const answer = methods[method];
  const said = answer ? { result: answer(params) } : { error: { code: -32601, message: `no method ${method}` } };
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, ...said })}\n`);
}
