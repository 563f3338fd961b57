// Builds the Kubernetes programs that neither this machine nor the cache has. A step of `npm run test:all` and `npm run test:kube`.
import { spawnSync } from 'node:child_process';
import { buildScript, findKubeTool, kubeTools } from '../support/tools.ts';

const missing = kubeTools.filter((tool) => findKubeTool(tool) === undefined);
if (missing.length > 0) process.exitCode = spawnSync(buildScript, missing, { stdio: 'inherit' }).status ?? 1;
