# SPDX-License-Identifier: GPL-2.0-or-later
"""Healthy mixes: what clients of a server that works well do. Whoever names a function here is wrong."""
from flow_clients import Session
from flow_lab import between, mix


@mix('keep-alive', sizes=(20, 100, 2000))
def keep_alive(place, r, _i, _n):
    count = r.randint(1, 6)
    return Session([place.speaks.get(at == count - 1) for at in range(count)], rest=r.choice([0, 0, 0, 0.01, 0.05])
                   if _n < 2000 else 0)


@mix('idle-pool')
def idle_pool(place, r, _i, _n):
    """A third of the clients keeps its connection for later."""
    resting = r.random() < 0.3
    count = r.randint(1, 3)
    return Session([place.speaks.get(at == count - 1 and not resting) for at in range(count)],
                   rest=between(r, 0.2, 2.0) if resting else 0)


@mix('missing', sizes=(20, 100, 2000))
def missing(place, r, _i, _n):
    return Session([place.speaks.missing() if r.random() < 0.06 else place.speaks.get()])


@mix('post')
def post(place, r, _i, _n):
    return Session([place.speaks.post(r.randint(10, 4000)) if r.random() < 0.1 else place.speaks.get()])


@mix('large')
def large(place, r, _i, _n):
    return Session([place.speaks.large() if r.random() < 0.1 else place.speaks.get()])


# cpp-httplib forgets what came after a request.
@mix('pipeline', unless=frozenset({'shop'}))
def pipeline(place, r, _i, _n):
    count = r.choice([1, 1, 1, 2, 4])
    return Session([place.speaks.get(at == count - 1) for at in range(count)], pipeline=True)


@mix('two-kinds', sizes=(20, 100, 2000))
def two_kinds(place, r, _i, _n):
    return Session([place.speaks.other() if r.random() < 0.1 else place.speaks.get()])


@mix('honest-slow')
def honest_slow(place, r, _i, _n):
    """Everybody has a slow link, each another one."""
    return Session([place.speaks.get()], drip=between(r, 0.02, 0.6))


@mix('warm-up')
def warm_up(place, r, i, n):
    """Clients that all come at once to a server that has just begun; what can be cold is."""
    cold = getattr(place.speaks, 'cold', None)
    return Session([cold(r, i % max(n // 4, 5)) if cold else place.speaks.get()])
