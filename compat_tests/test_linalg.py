"""Linear algebra: what errors say, how results lie in memory, and what is made of the factors."""

from __future__ import annotations

import pytest

import torchlite

from .side_by_side import same_story

A = [[4.0, 1.0, 2.0], [1.0, 3.0, 0.0], [2.0, 0.0, 5.0]]
ONE_SINGULAR = [[[1.0, 0.0], [0.0, 1.0]], [[1.0, 2.0], [2.0, 4.0]]]


def attempt(tell, f, *args, **kwargs):
    """Tell what a call gives, or what it raises."""
    try:
        tell(f(*args, **kwargs))
    except Exception as error:
        tell(type(error).__name__, str(error))


def layout(result):
    """The types, strides and nodes of results."""
    parts = result if isinstance(result, tuple) else (result,)
    nodes = [t.grad_fn.name() if t.grad_fn else None for t in parts]
    return type(result).__name__, [t.stride() for t in parts], [t.dtype for t in parts], nodes


@same_story
def test_singular_matrices_are_named_by_their_place_in_the_batch(torch, tell):
    batch, linalg = torch.tensor(ONE_SINGULAR), torch.linalg
    for f in (linalg.inv, linalg.lu_factor, linalg.cholesky, torch.inverse, torch.logdet, linalg.matrix_rank):
        attempt(tell, f, batch)
        attempt(tell, f, batch[1])
    attempt(tell, linalg.solve, batch, batch)
    attempt(tell, linalg.solve_ex, batch, batch, check_errors=True)
    attempt(tell, linalg.inv_ex, batch, check_errors=True)
    tell(linalg.solve_ex(batch, batch).info, linalg.inv_ex(batch).info, linalg.lu_factor_ex(batch).info)
    tell(*linalg.cholesky_ex(torch.tensor([[4.0, 2.0], [2.0, -1.0]])))
    tell(issubclass(linalg.LinAlgError, RuntimeError), linalg.LinAlgError.__name__)


@same_story
def test_matrices_that_are_no_matrices_are_refused(torch, tell):
    linalg = torch.linalg
    names = ("lu_factor", "lu", "eig", "eigvals", "eigh", "pinv", "matrix_rank", "cond", "ldl_factor", "svd", "qr",
             "inv", "det", "slogdet", "matrix_exp", "matrix_norm", "vander")  # fmt: skip
    for name in names:
        for a in (torch.ones(3), torch.ones(3, 3).long(), torch.ones(3, 3).half()):
            if (name, a.dtype) not in (
                ("matrix_exp", torch.float16),
                ("eig", torch.float16),
                ("eigvals", torch.float16),
            ):
                attempt(tell, getattr(linalg, name), a)
    for name in ("eig", "eigvals", "eigh", "ldl_factor", "inv", "det"):
        attempt(tell, getattr(linalg, name), torch.ones(2, 3))
    nan = torch.full((2, 3, 3), float("nan"))
    for f in (linalg.eigh, linalg.svd, linalg.eig):
        attempt(tell, f, nan)


@same_story
def test_operands_that_do_not_fit_are_refused(torch, tell):
    linalg, a = torch.linalg, torch.tensor(A)
    lu, pivots = linalg.lu_factor(a)
    calls = [
        (linalg.lu_solve, lu, pivots, torch.ones(4, 2)),
        (linalg.lu_solve, lu, pivots.long(), a),
        (linalg.lu_solve, lu, pivots[:2], a),
        (linalg.lu_solve, lu, pivots, a.double()),
        (torch.lu_unpack, lu, pivots + 9),
        (torch.lu_unpack, lu, pivots.long()),
        (linalg.ldl_solve, a, torch.ones(3), a),
        (linalg.ldl_solve, a, pivots[:2], a),
        (linalg.lstsq, a, torch.ones(4)),
        (linalg.lstsq, a, torch.ones(4, 2)),
        (linalg.lstsq, a, a.double()),
        (torch.ormqr, a, torch.ones(4), a),
        (torch.ormqr, a, torch.ones(3), torch.ones(4, 3)),
        (linalg.householder_product, a, torch.ones(4)),
        (linalg.multi_dot, [a]),
        (linalg.multi_dot, [a, torch.ones(2, 2)]),
        (linalg.vecdot, a, a.double()),
        (linalg.tensorinv, torch.ones(4, 2, 2), 2),
        (linalg.tensorsolve, torch.ones(2, 3, 6), torch.ones(2, 4)),
        (linalg.norm, torch.ones(2, 2, 2), 2),
        (linalg.norm, a, 3),
        (linalg.matrix_norm, a, "x"),
        (linalg.matrix_norm, a, 1, (0, 0)),
        (linalg.cond, a, 3),
        (torch.pca_lowrank, a, 9),
    ]
    for call in calls:
        attempt(tell, *call)
    attempt(tell, linalg.lu, a, pivot=False)
    attempt(tell, linalg.lstsq, a, a, driver="x")
    attempt(tell, linalg.svdvals, a, driver="gesvd")
    attempt(tell, linalg.pinv, a, rtol=torch.tensor(1j))
    attempt(tell, linalg.inv, a, out=torch.empty(3, 3).double())


@same_story
def test_results_have_names_columns_and_nodes_as_pytorch_s(torch, tell):
    linalg = torch.linalg
    for rows, columns in ((3, 3), (4, 3), (3, 4)):
        a = (torch.arange(rows * columns) ** 2 % 7 + 1.0).reshape(rows, columns).requires_grad_()
        b = torch.ones(rows, 2)
        for f in (linalg.lu, linalg.lu_factor, linalg.lu_factor_ex, linalg.svd, linalg.qr, linalg.pinv, torch.svd):
            tell(layout(f(a)))
        for driver in ("gels", "gelsy", "gelsd", "gelss"):
            tell(layout(linalg.lstsq(a, b, driver=driver)), layout(linalg.lstsq(a, b[:, 0], driver=driver)))
    a = torch.tensor(A, requires_grad=True)
    for f in (linalg.eig, linalg.eigh, linalg.inv_ex, linalg.cholesky_ex, linalg.ldl_factor, linalg.ldl_factor_ex):
        tell(layout(f(a)))
    tell(layout(linalg.solve_ex(a, a, left=False)), layout(linalg.solve(a, torch.ones(3))))
    for order in (None, "fro", "nuc", 1, -1, 2, -2, float("inf")):
        tell(layout(linalg.norm(a, order, keepdim=True)), layout(linalg.norm(a, order)), layout(linalg.cond(a, order)))
    tell(layout(torch.ormqr(a, torch.ones(3), a)), layout(torch.orgqr(a, torch.ones(3))))
    tell(layout(torch.triangular_solve(a, a)), layout(linalg.vander(a)), layout(torch.lu_unpack(*linalg.lu_factor(a))))


@same_story
def test_old_names_warn_of_the_new_ones(torch, tell):
    a = torch.tensor(A)
    tell(torch.lu(a), tuple(torch.lu(a, get_infos=True)), a.lu())
    tell(torch.lu_solve(a, *torch.linalg.lu_factor(a)), a.svd().S, a.pinverse())


@same_story
def test_functions_of_the_phase_of_vectors_have_no_gradient(torch, tell):
    a = torch.tensor([[2.0, 1 + 1j, 0.5], [1 - 1j, 3.0, 1j], [0.5, -1j, 5.0]], requires_grad=True)
    for vectors in (torch.linalg.eig(a)[1], torch.linalg.eigh(a)[1], torch.linalg.svd(a)[0]):
        attempt(tell, torch.autograd.grad, (vectors.real + 2 * vectors.imag).sum(), a)


@same_story
def test_the_determinant_of_a_singular_matrix_has_a_gradient(torch, tell):
    a = torch.tensor(ONE_SINGULAR, requires_grad=True)
    tell(torch.autograd.grad(torch.linalg.det(a).sum(), a))


@same_story
def test_tolerances_broadcast_against_the_batch(torch, tell):
    a = torch.tensor(A).expand(2, 3, 3)
    tell(torch.linalg.matrix_rank(a, tol=torch.tensor([0.1, 3.0])))
    tell(torch.linalg.matrix_rank(a, atol=3.0), torch.linalg.matrix_rank(a, rtol=0.5, hermitian=True))
    tell(torch.linalg.pinv(a, atol=torch.tensor([0.1, 3.0])), torch.linalg.pinv(a, 0.5), torch.linalg.pinv(a, rtol=0.5))


@pytest.mark.parametrize("hermitian", [False, True])
def test_systems_are_solved_by_factors_of_big_matrices(hermitian: bool) -> None:
    torch, n = torchlite, 70
    a = torch.randn(2, n, n, dtype=torch.complex128 if hermitian else torch.float64)
    b = torch.randn(n, 3, dtype=a.dtype)
    symmetric = a + (a.mH if hermitian else a.mT)
    ld, pivots = torch.linalg.ldl_factor(symmetric, hermitian=hermitian)
    assert (pivots < 0).any()  # pivots of two rows
    torch.testing.assert_close(
        symmetric @ torch.linalg.ldl_solve(ld, pivots, b, hermitian=hermitian), b.expand(2, n, 3)
    )
    P, L, U = torch.linalg.lu(a[..., :50])
    torch.testing.assert_close(P @ L @ U, a[..., :50])
    x = torch.linalg.lu_solve(*torch.linalg.lu_factor(a), b, adjoint=True)
    torch.testing.assert_close(a.mH @ x, b.expand(2, n, 3))


def test_low_rank_approximations_find_all_there_is() -> None:
    torch = torchlite
    a = torch.randn(30, 4, dtype=torch.float64) @ torch.randn(4, 20, dtype=torch.float64)
    U, S, V = torch.svd_lowrank(a, q=4)
    torch.testing.assert_close(U @ S.diag() @ V.mH, a)
    U, S, V = torch.pca_lowrank(a, q=4)
    torch.testing.assert_close(U @ S.diag() @ V.mH, a - a.mean(0))


@same_story
def test_a_few_eigenvalues_of_a_big_matrix(torch, tell):
    torch.manual_seed(0)
    a = torch.diag(torch.arange(1.0, 31.0)) + 0.1
    for arguments in ({}, {"k": 3, "largest": False}, {"k": 2, "B": torch.eye(30) * 2}):
        values, vectors = torch.lobpcg(a, **arguments)
        tell([round(v, 2) for v in values.tolist()], vectors.shape)
    attempt(tell, torch.lobpcg, torch.eye(5), k=2)
