import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openOptions } from 'tappet/kit';
import { invocation } from '../frontends/invocation.ts';

const host = { asks: [] };

test('asks for nothing that was not said', () => {
  const o = openOptions(invocation({ model: null, cwd: '/w' }), host);
  assert.deepEqual(JSON.parse(JSON.stringify(o)), { cwd: '/w', host: { asks: [] }, fork: false, ephemeral: false, overlay: { allow: [], deny: [], tools: null, directories: [], allowBypass: false } });
});

test('hands every flag on, and puts what a host adds above it', () => {
  const o = openOptions(invocation({
    model: 'a/b', fallbackModel: 'c/d', mode: 'plan', allowBypass: true, allowedTools: ['Read'], disallowedTools: ['Bash'], tools: ['Read'], addDirs: ['/x'], systemPrompt: '', appendSystemPrompt: 'more', effort: 'high', thinking: false,
    maxTurns: 3, maxBudgetUsd: 2, timeoutMs: 1, persist: false, forkSession: true, sessionId: 'id', setup: 'init',
  }), host, { systemPrompt: 'host' });
  assert.deepEqual(o.overlay, {
    model: 'a/b', fallbackModel: 'c/d', mode: 'plan', allow: ['Read'], deny: ['Bash'], tools: ['Read'], directories: ['/x'], maxTurns: 3, costUsd: 2, timeMs: 1, systemPrompt: 'host', appendSystemPrompt: 'more', effort: 'high', thinking: false,
    allowBypass: true,
  });
  assert.deepEqual([o.ephemeral, o.fork, o.id, o.setup, o.resume], [true, true, 'id', 'init', undefined]);
});

test('goes on with the session that is named, else with the newest', () => {
  assert.equal(openOptions(invocation({ continue: true }), host).resume, 'latest');
  assert.equal(openOptions(invocation({ continue: true, resume: 'id' }), host).resume, 'id');
});
